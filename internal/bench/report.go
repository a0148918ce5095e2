package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is what a run found.
type Report struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	CPUs     int    `json:"cpus"`
	Load     string `json:"load_average"` // over the minute before the run
	Memories int    `json:"memories"`     // in the store at the start
	Bypass   bool   `json:"bypass"`
	Requests int    `json:"requests"` // per target and cell
	Rows     []Row  `json:"rows"`
}

// Row is one target's part of a cell. Times are microseconds; what is added is
// against the same requests sent straight to the upstream.
type Row struct {
	Cell          string  `json:"cell"`
	Target        string  `json:"target"`
	Answered      int     `json:"answered"`
	Errors        int     `json:"errors"`
	Error         string  `json:"error,omitempty"` // the first one
	P50           float64 `json:"p50_us"`
	P99           float64 `json:"p99_us"`
	AddedP50      float64 `json:"added_p50_us"`
	AddedP99      float64 `json:"added_p99_us"`
	AddedFirstP50 float64 `json:"added_first_byte_p50_us"`
	AddedFirstP99 float64 `json:"added_first_byte_p99_us"`
	CPU           float64 `json:"cpu_us"`    // per request; 0 unknown
	RSS           float64 `json:"rss_mb"`    // after the cell; 0 unknown
	Ratio         float64 `json:"cpu_ratio"` // Understudy's CPU by this target's; 0 unknown

	// FailOpen are the smart steps that Understudy gave up, by step and reason.
	FailOpen map[string]int `json:"fail_open,omitempty"`
}

func newRow(c cell, t *target, direct, own []timing, cpu time.Duration) Row {
	row := Row{Cell: c.name, Target: t.name}
	total := values(own, whole)
	row.Answered = len(total)
	row.P50, row.P99 = quantile(total, 0.5), quantile(total, 0.99)
	if t.name != Direct {
		diff, first := added(direct, own, whole), added(direct, own, firstByte)
		row.AddedP50, row.AddedP99 = quantile(diff, 0.5), quantile(diff, 0.99)
		row.AddedFirstP50, row.AddedFirstP99 = quantile(first, 0.5), quantile(first, 0.99)
	}
	if t.pid == 0 {
		return row
	}
	if row.Answered > 0 {
		row.CPU = max(0, micros(cpu)/float64(row.Answered))
	}
	row.RSS, _ = residentMB(procRoot, t.pid) // 0 where there is no /proc
	return row
}

// setRatios compares Understudy, the second row, with the peers.
func setRatios(rows []Row) {
	for i := 2; i < len(rows); i++ {
		if rows[i].CPU > 0 {
			rows[i].Ratio = rows[1].CPU / rows[i].CPU
		}
	}
}

// Errors counts the failed requests to Understudy itself.
func (r *Report) Errors() (n int, first string) {
	for _, row := range r.Rows {
		if row.Target == Understudy && row.Errors > 0 {
			n += row.Errors
			first = row.Error
		}
	}
	return n, first
}

// WriteTable writes the report as a Markdown table.
func (r *Report) WriteTable(out io.Writer) error {
	path := "all features on"
	if r.Bypass {
		path = "bypass"
	}
	fmt.Fprintf(out, "Understudy %s (%s), %s, %d CPUs, load average before the run %s; %d memories; %d requests per target and cell. "+
		"Times in µs; \"added\" is against direct.\n\n", r.Version, path, r.Go, r.CPUs, r.Load, r.Memories, r.Requests)
	rows := [][]string{
		{"cell", "target", "p50", "p99", "added p50", "added p99", "first byte p50", "p99", "CPU", "Understudy's by it", "RSS MB", "failed"},
		nil, // the line below the names
	}
	for range rows[0] {
		rows[1] = append(rows[1], "--:")
	}
	for _, row := range r.Rows {
		failed := strconv.Itoa(row.Errors)
		for _, key := range slices.Sorted(maps.Keys(row.FailOpen)) {
			failed += fmt.Sprintf(", %s %d", key, row.FailOpen[key])
		}
		rows = append(rows, []string{
			row.Cell, row.Target, number(row.P50, 0), number(row.P99, 0), number(row.AddedP50, 0), number(row.AddedP99, 0),
			number(row.AddedFirstP50, 0), number(row.AddedFirstP99, 0), number(row.CPU, 0), number(row.Ratio, 2), number(row.RSS, 0), failed,
		})
	}
	return writeAligned(out, rows)
}

// writeAligned writes rows of equal length as lines of a Markdown table.
func writeAligned(out io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(&b, "| %*s ", widths[i], cell)
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// number leaves out what is unknown.
func number(v float64, decimals int) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
