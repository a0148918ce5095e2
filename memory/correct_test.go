package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestChangesOfMind has people take back, correct and repeat what they said:
// what is left is what holds.
func TestChangesOfMind(t *testing.T) {
	tests := []struct {
		name string
		said []string
		want []string // by arrival, the last first
	}{
		{
			"correction",
			[]string{"Our standup is on Monday mornings.", "No, it's Tuesday, not Monday, for the standup."},
			[]string{"active No, it's Tuesday, not Monday, for the standup. hits=1", "active Our standup is on Monday mornings. hits=1 until 11:00:00"},
		},
		{
			"correction of a number",
			[]string{"We use Postgres 16 for billing.", "I meant Postgres 17, not 16."},
			[]string{"active I meant Postgres 17, not 16. hits=1", "active We use Postgres 16 for billing. hits=1 until 11:00:00"},
		},
		{
			"correction about something else",
			[]string{"Our standup is on Monday mornings.", "No, it's Tuesday, not Monday, for the retro."},
			[]string{"active No, it's Tuesday, not Monday, for the retro. hits=1", "active Our standup is on Monday mornings. hits=1"},
		},
		{
			"no longer",
			[]string{"I work at Bosch.", "I no longer work at Bosch."},
			[]string{"active I no longer work at Bosch. hits=1", "active I work at Bosch. hits=1 until 11:00:00"},
		},
		{
			"no longer, and long replaced",
			[]string{"I work at Bosch.", "I work at Siemens.", "I no longer work at Bosch."},
			[]string{"active I no longer work at Bosch. hits=1", "active I work at Siemens. hits=1", "active I work at Bosch. hits=1 until 10:00:00"},
		},
		{
			"nearly the same words",
			[]string{"We decided to use Go for the API.", "OK, so we just decided to use Go for API"},
			[]string{"active We decided to use Go for the API. hits=2"},
		},
		{
			"one word more that matters",
			[]string{"Our server has port 8080.", "Our B server has port 8080.", "Our A server has port 8080."},
			[]string{"active Our A server has port 8080. hits=1", "active Our B server has port 8080. hits=1", "active Our server has port 8080. hits=1"},
		},
		{
			"likes and dislikes in Serbian",
			[]string{"Volim čaj.", "Ne volim čaj."},
			[]string{"active Ne volim čaj. hits=1", "active Volim čaj. hits=1 until 11:00:00"},
		},
		{
			"one port in two ways",
			[]string{"Remember that the store runs on port 8090.", "Note: store backend at localhost:8090"},
			[]string{"active the store runs on port 8090. hits=2"},
		},
		{
			"one port for two servers",
			[]string{"Note: server A port 8080", "Note: server B port 8080", "Note: server B port 9090"},
			[]string{"active server B port 9090 hits=1", "active server B port 8080 hits=1 until 11:00:00", "active server A port 8080 hits=1"},
		},
		{
			"two roles at one company",
			[]string{"Remember that Ann works at Acme as CFO.", "Remember that Ann administers Acme's GitHub org."},
			[]string{"active Ann administers Acme's GitHub org. hits=1", "active Ann works at Acme as CFO. hits=1"},
		},
	}
	s := openStore(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scope := scopeIn(t, test.name, "ann")
			for i, text := range test.said { // One at a time: what is not yet written can't be corrected.
				s.Learn(Exchange{Scope: scope, At: noon.Add(time.Duration(i-len(test.said)) * time.Hour), UserText: text})
				settle(t, s)
			}
			if diff := cmp.Diff(test.want, states(list(t, s, scope, Filter{}))); diff != "" {
				t.Errorf("memories (-want +got):\n%s", diff)
			}
		})
	}
}
