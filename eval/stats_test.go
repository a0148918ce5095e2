package eval

import (
	"math"
	"testing"
)

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

func TestSignFlip(t *testing.T) {
	tests := []struct {
		name string
		diff []float64
		want float64
	}{
		// All five one way: of 32 patterns only that one and its mirror image
		// are as far from zero.
		{"five alike", []float64{0.1, 0.1, 0.1, 0.1, 0.1}, 2.0 / 32},
		{"nothing", []float64{0, 0, 0}, 1},
		{"one", []float64{0.3}, 1},
		{"cancels", []float64{0.2, -0.2, 0.2, -0.2}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := signFlip(tt.diff); !near(got, tt.want, 1e-12) {
				t.Errorf("signFlip(%v) = %v, want %v", tt.diff, got, tt.want)
			}
		})
	}
	// Of more differences, patterns are drawn: here only two in 32,768 are as
	// far from zero, and there every one is.
	alike, even := make([]float64, exactFlips+1), make([]float64, exactFlips+2)
	for i := range alike {
		alike[i] = 0.1
	}
	for i := range even {
		even[i] = float64(i%2) - 0.5
	}
	if p := signFlip(alike); p > 0.002 {
		t.Errorf("drawn p of differences all alike = %v", p)
	}
	if p := signFlip(even); p < 0.99 {
		t.Errorf("drawn p of differences that cancel = %v", p)
	}
}

func TestEffect(t *testing.T) {
	weak := []float64{0.2, 0.3, 0.25, 0.35, 0.3, 0.2}
	better := []float64{0.5, 0.6, 0.5, 0.7, 0.65, 0.45}
	e := effect(better, weak)
	if !e.Shown || !near(e.Mean, 0.3, 1e-9) || e.Low <= 0 || e.High <= e.Low {
		t.Errorf("effect = %+v, want one of .3 that is shown", e)
	}
	noise := effect([]float64{0.2, 0.4, 0.2, 0.4, 0.3, 0.2}, weak)
	if noise.Shown {
		t.Errorf("effect = %+v, want none shown", noise)
	}
	if noise.Detectable == nil || *noise.Detectable <= math.Abs(noise.Mean) {
		t.Errorf("an effect that is not shown should be below the detectable one: %+v", noise)
	}
	if none := effect(nil, nil); none.Shown || none.P != 1 {
		t.Errorf("effect of nothing = %+v", none)
	}
}

// Known gaps give known closures.
func TestClosure(t *testing.T) {
	flat := func(v float64) []float64 { return []float64{v, v, v, v, v, v} }
	tests := []struct {
		name            string
		weak, with, top float64
		target          float64
		want            float64
		passed          bool
	}{
		{"half", 0.3, 0.6, 0.9, 0.4, 0.5, true},
		{"none", 0.3, 0.3, 0.9, 0.4, 0, false},
		{"worse", 0.3, 0.18, 0.9, 0.4, -0.2, false},
		{"all", 0.3, 0.9, 0.9, 0.4, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := closure(Closure{Target: tt.target}, flat(tt.weak), flat(tt.with), flat(tt.top))
			if r.Closed == nil || !near(r.Closed.Mean, tt.want, 1e-9) || *r.Passed != tt.passed {
				t.Errorf("closed %+v, passed %v, want %v, %v", r.Closed, r.Passed, tt.want, tt.passed)
			}
		})
	}
	if r := closure(Closure{Target: 0.4}, flat(0.9), flat(0.6), flat(0.3)); r.Closed != nil || r.Passed != nil {
		t.Errorf("without a gap nothing is closed: %+v", r)
	}
}

// By hand: of two scenarios a quarter of the draws are 0, a quarter 1; and
// three differences of 0 and three of 1 have a standard error of .2236.
func TestStatisticsByHand(t *testing.T) {
	v := []float64{0, 1}
	if e := bootstrap(2, func(index []int) float64 { return pick(v, index) }); e.Mean != 0.5 || e.Low != 0 || e.High != 1 {
		t.Errorf("bootstrap of 0 and 1 = %+v, want .5 [0, 1]", e)
	}
	if d := detectable([]float64{0, 0, 0, 1, 1, 1}); d == nil || !near(*d, 2.8016*0.223607, 1e-4) {
		t.Errorf("detectable = %v, want .626", d)
	}
	if d := detectable([]float64{0, 0, 1, 1, 1}); d != nil {
		t.Errorf("detectable by five = %v, want nothing", *d)
	}
}

func TestBootstrapIsTheSameEachTime(t *testing.T) {
	v := []float64{0.1, 0.5, 0.2, 0.9, 0.4}
	f := func(index []int) float64 { return pick(v, index) }
	if a, b := bootstrap(len(v), f), bootstrap(len(v), f); a != b {
		t.Errorf("%+v and %+v of one sample", a, b)
	}
}

func TestAPGR(t *testing.T) {
	gains := []float64{1, 1, 0, 0}
	tests := []struct {
		name string
		key  []float64
		want float64
	}{
		{"best order", []float64{4, 3, 2, 1}, 0.75},
		{"worst order", []float64{1, 2, 3, 4}, 0.25},
		{"no order", []float64{1, 1, 1, 1}, 0.5},
	}
	for _, tt := range tests {
		if got := apgr(gains, tt.key); !near(got, tt.want, 1e-12) {
			t.Errorf("%s: apgr = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRecallFigures(t *testing.T) {
	g := &RecallGroup{}
	g.add([]string{"x", "a", "y", "a", "b"}, []string{"a", "b"}) // a twice counts once
	g.add([]string{"x"}, []string{"a"})
	m := g.means()
	if m.N != 2 || m.R[0] != 0 || m.R[1] != 0.5 || m.MRR != 0.25 || m.Hit5 != 0.5 {
		t.Errorf("means = %+v", m)
	}
}
