package ambient

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/understudy-ai/understudy/internal/background"
)

// This file is the work that nobody waits for.

const (
	digestsEvery   = time.Minute
	knowledgeEvery = 10 * time.Second
	digestsAtOnce  = 20
)

// jobs are what there is to do. Without a model it is the tidying up alone.
func (s *Store) jobs() []background.Job {
	jobs := []background.Job{{Name: "tidy", Every: time.Hour, Run: s.cleanUp}}
	if s.cfg.Background.Ask == nil {
		return jobs
	}
	jobs = append(jobs,
		wordingJob("digests", s, &wording[int64, DueDigest]{
			purpose: "digest", every: digestsEvery, key: func(d *DueDigest) int64 { return d.id },
			due: func(ctx context.Context, wanted func(int64) bool) ([]DueDigest, error) {
				return s.dueDigests(ctx, digestsAtOnce, wanted)
			},
			word: (*Store).wordDigest,
		}),
		wordingJob("profiles", s, &wording[profileKey, StaleProfile]{
			purpose: "profile", every: s.cfg.People.Interval, key: (*StaleProfile).key, due: s.staleProfiles, word: (*Store).wordProfile,
		}))
	if s.cfg.Held != nil {
		jobs = append(jobs, wordingJob("knowledge", s, &wording[owner, changed]{
			purpose: "knowledge", every: knowledgeEvery, key: func(c *changed) owner { return c.owner },
			due: func(_ context.Context, wanted func(owner) bool) ([]changed, error) {
				return s.syntheses.due(s.cfg.Clock(), wanted), nil
			},
			word: (*Store).synthesize,
		}))
	}
	return jobs
}

// wordingJob is the job that words such texts.
func wordingJob[K comparable, T any](name string, s *Store, w *wording[K, T]) background.Job {
	return background.Job{Name: name, Every: w.every, Run: func(ctx context.Context) error { return w.do(ctx, s) }}
}

// cleanUp deletes what nobody asks for any more.
func (s *Store) cleanUp(ctx context.Context) error {
	since := s.cfg.Clock().Add(-briefingTTL)
	return s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, oldBriefings, since.UnixMilli())
		return err
	}, nil)
}

const (
	paragraphInstructions = "Below is what happened with a team's agent in part of a day. Write 50 to 100 words, in the past tense, that tell somebody who was " +
		"away what matters: what was decided, finished, found or blocked, and by whom. Keep names and numbers. " + dataRule
	dayInstructions = "Below is what happened with a team's agent on one day. Write up to 300 words, in the past tense, that tell somebody who was " +
		"away what mattered: what was decided, finished, found or blocked, by whom, and what was still open at the end. Keep names and numbers. " + dataRule
)

// wordDigest has the model word a paragraph or a day that rules have worded.
func (s *Store) wordDigest(ctx context.Context, d *DueDigest) error {
	q := Question{Purpose: "digest", Tenant: d.Tenant, Agent: d.Agent, User: d.hall.audience.user(), Instructions: paragraphInstructions}
	if d.Daily {
		q.Instructions = dayInstructions
	}
	lines := make([]string, len(d.Told), len(d.Told)+1)
	for i, line := range d.Told {
		lines[i] = data(line)
	}
	if left := d.Events - len(d.Told); left > 0 {
		lines = append(lines, "and "+strconv.Itoa(left)+" less important things")
	}
	q.Text = tagged("day", []string{d.Day}) + tagged("events", lines)
	text, err := s.askAlone(ctx, q, d.Words)
	if err != nil {
		return err
	}
	_, err = s.SetDigest(ctx, *d, text)
	return err
}

const profileInstructions = "Below is what an agent remembers of a person, and what they said last. Write two or three sentences, in the third person, that tell " +
	"who they are and their role, what they are working on, and how they like to communicate. Where little is known, say little. " + dataRule

// wordProfile has the model write a profile that is stale.
func (s *Store) wordProfile(ctx context.Context, p *StaleProfile) error {
	var known, said []string
	for _, k := range p.Known {
		known = append(known, "["+k.Type+"] "+data(k.Content))
	}
	for _, text := range p.Said {
		said = append(said, data(text))
	}
	text := ""
	if len(known)+len(said) > 0 { // else there is nothing to ask about
		var err error
		if text, err = s.askAlone(ctx, Question{
			Purpose: "profile", Tenant: p.Tenant, Agent: p.Agent, User: p.Audience.user(), Instructions: profileInstructions,
			Text: tagged("person", []string{data(p.Name)}) + tagged("memories", known) + tagged("said", said),
		}, p.Words); err != nil {
			return err
		}
	}
	return s.SetProfile(ctx, *p, text)
}

// askAlone is ask where nobody waits. A useless reply is "": what the rules made stays.
func (s *Store) askAlone(ctx context.Context, q Question, words int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	text, err := s.ask(ctx, q, words)
	if useless(err) {
		return "", nil
	}
	return text, err
}
