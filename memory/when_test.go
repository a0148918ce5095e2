package memory

import (
	"strings"
	"testing"
	"time"
)

// The message of these tests is written on Wednesday, 2026-03-18, at 23:30.
func TestDated(t *testing.T) {
	tests := []struct {
		name, text string
		way        tense
		want       string // what is added
	}{
		{"nothing", "We decided to use Go.", future, ""},
		{"today", "We launch today.", future, " (today: 2026-03-18)"},
		{"tomorrow", "I must call Ann tomorrow!", future, " (tomorrow: 2026-03-19)"},
		{"yesterday", "Yesterday we met.", past, " (Yesterday: 2026-03-17)"},
		{"Serbian", "Sutra letim u Rim", future, " (Sutra: 2026-03-19)"},
		{"Serbian with marks", "Juče smo potpisali", past, " (Juče: 2026-03-17)"},
		{"next week", "We ship next week.", future, " (next week: week of 2026-03-23)"},
		{"last week", "I had surgery last week.", past, " (last week: week of 2026-03-09)"},
		{"last month", "We moved last month", past, " (last month: 2026-02)"},
		{"next year", "We move next year", future, " (next year: 2027)"},
		{"on a day to come", "The report is due on Friday.", future, " (on Friday: 2026-03-20)"},
		{"on a day gone", "We met on Friday.", past, " (on Friday: 2026-03-13)"},
		{"the same day gone", "We met on Wednesday.", past, " (on Wednesday: 2026-03-18)"},
		{"the same day to come", "We meet on Wednesday.", future, " (on Wednesday: 2026-03-25)"},
		{"last Monday", "We met last Monday", past, " (last Monday: 2026-03-16)"},
		{"last Wednesday", "We met last Wednesday", past, " (last Wednesday: 2026-03-11)"},
		{"by Thursday", "I need to send it by Thursday", future, " (by Thursday: 2026-03-19)"},
		{"in days", "We meet in 3 days.", future, " (in 3 days: 2026-03-21)"},
		{"in weeks", "We meet in two weeks", future, " (in two weeks: 2026-04-01)"},
		{"ago", "I left two months ago.", past, " (two months ago: 2026-01)"},
		{"a year ago", "I left a year ago.", past, " (a year ago: 2025)"},
		{"two times", "I fly to Rome tomorrow. We signed the lease yesterday, yes, yesterday.", future, " (tomorrow: 2026-03-19; yesterday: 2026-03-17)"},
		{"the day after", "I fly to Rome the day after tomorrow.", future, " (day after tomorrow: 2026-03-20)"},
		{"the day before", "We met the day before yesterday", past, " (day before yesterday: 2026-03-16)"},
		{"the week after", "We ship the week after next week.", future, " (week after next: week of 2026-03-30)"},
		{"the year before", "I quit the year before last", past, " (year before last: 2024)"},
		{"a fraction", "I left 1.5 years ago, and in 1,200 days I come back", past, ""},
		{"the end of a count", "I left twenty one days ago, or a year and two months ago", past, ""},
		{"a weekday alone", "Fridays are meeting-free; Friday it is", future, ""},
		{"every week", "The standup is on Monday.", always, ""},
		{"a plain date", "The audit is on 3 May", future, ""},
	}
	belgrade := time.FixedZone("UTC+1", 3600)
	at := time.Date(2026, 3, 18, 22, 30, 0, 0, time.UTC).In(belgrade)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := dated(test.text, at, test.way); got != test.text+test.want {
				t.Errorf("dated(%q) = %q, want %q added", test.text, got, test.want)
			}
		})
	}
}

// TestDatesByZone learns near midnight: the day is that of the agent's zone,
// and of the message, not of the clock.
func TestDatesByZone(t *testing.T) {
	s := openStore(t, func(cfg *Config) {
		cfg.Zone = func(agent string) *time.Location {
			if agent == "bot" {
				return time.FixedZone("UTC+2", 2*3600)
			}
			return time.UTC
		}
	})
	at := time.Date(2026, 2, 10, 23, 30, 0, 0, time.UTC) // 01:30 on the 11th for bot.
	want := map[string]string{"bot": "2026-02-10", "other": "2026-02-09"}
	for agent, date := range want {
		scope := scopeIn(t, agent, "ann")
		s.Learn(Exchange{Scope: scope, At: at, UserText: "We launched version 2 yesterday."})
		settle(t, s)
		items := list(t, s, scope, Filter{})
		if len(items) != 1 || !strings.Contains(items[0].Content, "(yesterday: "+date+")") {
			t.Errorf("%s learned %v, want yesterday to be %s", agent, contents(items), date)
		}
	}
}

func FuzzDated(f *testing.F) {
	f.Add("in 3 days next Friday a year ago on")
	f.Add("  .. in 999999999999999999999 days")
	f.Fuzz(func(t *testing.T, text string) {
		text = cut(oneLine(cleanText(text)))
		if got := dated(text, noon, past); !strings.HasPrefix(got, text) {
			t.Errorf("dated(%q) = %q", text, got)
		}
	})
}
