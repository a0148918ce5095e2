package ledger

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// WriteJSONL writes each entry as a line of JSON, with the names of [Entry].
// It stops at the sequence's first error and returns it.
func WriteJSONL(w io.Writer, entries iter.Seq2[Entry, error]) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("writing entry %q: %w", e.ID, err)
		}
	}

	return out.Flush()
}

// csvColumns are the fields of an entry's JSON, those of an object after its
// own name and a dot.
var csvColumns = [...]string{
	"id", "at", "tenant", "agent", "user", "session", "channel", "process_type", "background",
	"requested_model", "routed_model", "answered_model", "baseline_model",
	"profile", "tier", "shape", "reason", "score", "switched", "streamed", "status", "outcome",
	"usage_known", "usage.input", "usage.cached", "usage.cache_write", "usage.cache_write_hour", "usage.output", "usage.reasoning",
	"injected_memory_tokens", "injected_scaffold_tokens", "scaffold_arm", "warm_tokens", "retry_cost_usd",
	"cost_usd", "baseline_usd", "saved.routing", "saved.memory", "saved.scaffold", "saved.cache", "saved.retries", "saved.background",
	"priced", "disputed", "overhead_ns", "first_byte_ns", "total_ns", "memories_used", "fail_open", "truncated", "corrected_arm",
}

// WriteCSV writes a header and a record for each entry. What an entry's JSON
// leaves out is empty. It stops at the sequence's first error and returns it.
func WriteCSV(w io.Writer, entries iter.Seq2[Entry, error]) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns[:]); err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	column := make(map[string]int, len(csvColumns))
	for i, name := range csvColumns {
		column[name] = i
	}
	record := make([]string, len(csvColumns))
	for e, err := range entries {
		if err != nil {
			return err
		}
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("writing entry %q: %w", e.ID, err)
		}
		clear(record)
		fill(record, column, "", gjson.ParseBytes(line))
		if err := out.Write(record); err != nil {
			return fmt.Errorf("writing entry %q: %w", e.ID, err)
		}
	}
	out.Flush()

	return out.Error()
}

// fill puts the fields of an object into their columns.
func fill(record []string, column map[string]int, prefix string, object gjson.Result) {
	object.ForEach(func(key, value gjson.Result) bool {
		if value.IsObject() {
			fill(record, column, key.Str+".", value)
		} else if i, ok := column[prefix+key.Str]; ok {
			record[i] = value.String()
		}

		return true
	})
}

// ParseTime reads an instant as people write one: an RFC 3339 time, a UTC day
// (2026-11-30), or a duration before now, in days too (24h, 30d).
func ParseTime(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%.40q is not a duration before now, such as 24h or 30d, a day such as 2026-11-30, or an RFC 3339 time", text)
	}

	return t, nil
}
