package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClaims(t *testing.T) {
	tests := []struct {
		text string
		want []Claim
	}{
		{"I live in Bern.", []Claim{{Subject: "user", Attribute: "location", Value: "bern", Own: true}}},
		{"I no longer work at Acme.", []Claim{{Subject: "user", Attribute: "employer", Value: "acme", Not: true, Own: true}}},
		{"Our budget is 50k.", []Claim{{Subject: "budget", Attribute: "value", Value: "50k"}}},
		{"The gateway listens on port 8080.", []Claim{{Subject: "gateway", Attribute: "port", Value: "8080"}}},
		{"I love tea.", []Claim{{Subject: "tea", Attribute: "liking", Value: "likes", Own: true}}},
		{"We decided to use NATS.", nil},
		{"Where do I live?", nil},
		{"", nil},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Claims(tt.text)); diff != "" {
				t.Errorf("Claims(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}
