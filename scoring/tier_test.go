package scoring

import (
	"encoding/json"
	"testing"
)

func TestParseTier(t *testing.T) {
	tests := []struct {
		name    string
		in      string
		wantErr bool
		want    Tier
	}{
		{name: "light", in: "light", want: Light},
		{name: "standard", in: "standard", want: Standard},
		{name: "heavy, upper case", in: "HEAVY", want: Heavy},
		{name: "empty", in: "", wantErr: true},
		{name: "unknown", in: "huge", wantErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTier(tt.in)
			if got != tt.want || (err != nil) != tt.wantErr {
				t.Errorf("ParseTier(%q) = %v, %v, want %v, error %v", tt.in, got, err, tt.want, tt.wantErr)
			}
		})
	}
}

func TestTierOrder(t *testing.T) {
	var zero Tier
	if zero != Standard {
		t.Errorf("the zero tier is %v, want standard", zero)
	}
	if !(Light < Standard && Standard < Heavy) {
		t.Error("tiers are not ordered light < standard < heavy")
	}
}

func TestJSON(t *testing.T) {
	dims := `{"token_count":0.5,"code_presence":0,"reasoning_markers":0,"simple_indicators":0,` +
		`"technical_depth":0,"multi_step":0,"constraint_complexity":-1}`
	v := Vector{TokenCount: 0.5, ConstraintComplexity: -1}
	tests := []struct {
		name string
		in   any
		want string
	}{
		{name: "vector", in: v, want: dims},
		{
			name: "score", in: Score{Value: 0.25, Tier: Heavy, Confidence: 0.75, Dimensions: v, Contributions: v},
			want: `{"score":0.25,"tier":"heavy","confidence":0.75,"abstained":false,"dimensions":` + dims +
				`,"contributions":` + dims + `}`,
		},
		{
			name: "shape", in: DetectShape(""),
			want: `{"type":"draft","confidence":0.1,"complexity":"simple","signals":[]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.in)
			if err != nil || string(got) != tt.want {
				t.Errorf("Marshal(%v) = %s, %v, want %s", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestDimensionNames(t *testing.T) {
	for d := range NumDimensions {
		if got, ok := dimensionNamed(d.String()); !ok || got != d {
			t.Errorf("dimensionNamed(%q) = %v, %v, want %v", d, got, ok, d)
		}
	}
	if got, want := NumDimensions.String(), "dimension(7)"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
