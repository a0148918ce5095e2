package memory

import (
	"context"
	"strings"
)

// The graph of a scope: memories mention entities, and edges tell how a memory
// stands to older ones. It grows with the number of memories and never faster:
// a memory has at most maxEntities mentions, and leads through each to the
// perEntity memories that mentioned it last, so that one name in ten thousand
// memories makes a chain of them, not fifty million pairs.
//
// Reading: [Scope.entityID] of the folded names in a query are keys of
// mentions; edges lead on from there in both directions.

// perEntity is how many older memories a new one is tied to by one entity.
const perEntity = 2

// The kinds of edges. The source is the newer memory.
const (
	edgeRelated     = "related_to"  // both mention an entity
	edgeUpdates     = "updates"     // the source's value took the target's place
	edgeContradicts = "contradicts" // the source says the opposite
	edgeCaused      = "caused_by"   // the source names an entity of the target as its reason
	edgeResult      = "result_of"   // the source follows from the target
	edgePart        = "part_of"     // the source says that it is part of the target's entity
)

const (
	insertEntity  = `INSERT OR IGNORE INTO entities (id, tenant, agent, user, name, label) VALUES (?, ?, ?, ?, ?, ?)`
	insertMention = `INSERT OR IGNORE INTO mentions (entity, memory) VALUES (?, ?)`
	insertEdge    = `INSERT OR IGNORE INTO edges (source, target, kind) VALUES (?, ?, ?)`
	insertEdges   = `INSERT OR IGNORE INTO edges (source, target, kind)
		SELECT ?1, memory, ?3 FROM mentions WHERE entity = ?2 AND memory < ?1 ORDER BY memory DESC LIMIT ?4`
)

// connect writes what a new memory mentions, and its edges to older ones.
func connect(ctx context.Context, tx *txn, scope Scope, row int64, content string) error {
	found := entities(content)
	if len(found) == 0 {
		return nil
	}
	folded := fold(content)
	for _, e := range found {
		id := scope.entityID(e.name)
		if _, err := tx.ExecContext(ctx, insertEntity, id, scope.tenant, scope.agent, scope.user, e.name, e.label); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertEdges, row, id, relation(folded, e.name), perEntity); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insertMention, id, row); err != nil {
			return err
		}
	}

	return nil
}

// relations are what stands in front of an entity that names a relation.
var relations = []struct{ kind, words string }{
	{edgeCaused, "because of |due to |caused by |thanks to |reason is |zbog |wegen |a causa de |a cause de "},
	{edgeResult, "as a result of |result of |consequence of |follows from |after |nakon |posle "},
	{edgePart, "part of |belongs to |module of |component of |member of |inside |deo |teil von "},
	{edgeUpdates, "instead of |in place of |replaces |replacing |rather than |no longer |umesto |statt "},
}

// maxReach is how far in front of an entity its relation may stand, in bytes.
const maxReach = 24

// relation returns the kind of edge that a text, folded, gives to one of its
// entities, by the words in front of it.
func relation(folded, name string) string {
	at := strings.Index(folded, name)
	if at < 0 {
		return edgeRelated
	}
	before := folded[max(at-maxReach, 0):at]
	for _, r := range relations {
		for words := range strings.SplitSeq(r.words, "|") {
			if i := strings.Index(before, words); i >= 0 && (i == 0 || before[i-1] == ' ') {
				return r.kind
			}
		}
	}

	return edgeRelated
}

// follows reports whether a text says that it follows from what was said
// before it.
func follows(text string) bool {
	for _, start := range []string{"so ", "so, ", "therefore", "hence", "as a result", "that's why", "thus ", "consequently", "zato ", "stoga ", "dakle"} {
		if hasPrefixFold(text, start) {
			return true
		}
	}

	return false
}
