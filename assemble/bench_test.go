package assemble

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func BenchmarkAssemble(b *testing.B) {
	a := newAssembler(b, nil)
	for _, tier := range []ModelTier{Small, Mid, Frontier} {
		b.Run(tier.String(), func(b *testing.B) {
			in := fullInput(tier)
			b.ReportAllocs()
			for b.Loop() {
				a.Assemble(in)
			}
		})
	}
}

// BenchmarkPlan measures a request of a conversation of 20 human turns: a new turn, and one that was served before.
func BenchmarkPlan(b *testing.B) {
	var turns []TurnKey
	for i := range 20 {
		turns = append(turns, KeyOf(2*i, fmt.Sprint("turn ", i)))
	}
	in := fullInput(Mid)
	b.Run("new turn", func(b *testing.B) {
		s, _ := newSessions(b, newAssembler(b, nil), nil)
		for i := range turns {
			plan(b, s, "k", turns[:i+1], in)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			turns[19] = TurnKey{index: i} // unlike any before
			if _, err := s.Plan(conversation("k"), turns, in, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new conversation", func(b *testing.B) {
		s, _ := newSessions(b, newAssembler(b, nil), nil)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := s.Plan(conversation(strconv.Itoa(i)), turns[:1], in, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("same turn", func(b *testing.B) {
		s, _ := newSessions(b, newAssembler(b, nil), nil)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Plan(conversation("k"), turns, in, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkKeyOf(b *testing.B) {
	text := strings.Repeat("what a human says ", 60)
	b.ReportAllocs()
	for b.Loop() {
		KeyOf(1, text)
	}
}

func BenchmarkEscapeLine(b *testing.B) {
	for name, text := range map[string]string{
		"latin":    "We decided to use NATS instead of Redis for the event bus, because fan-out is the bottleneck.",
		"cyrillic": "Одлучили смо да користимо НАТС уместо Редиса, јер је гранање уско грло целог система.",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				escapeLine(text)
			}
		})
	}
}

func BenchmarkStrip(b *testing.B) {
	human := strings.Repeat("A line of a long paste.\n", 2000)
	b.Run("no block", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Strip(human)
		}
	})
	block := newAssembler(b, nil).Assemble(fullInput(Mid)).SystemBlock
	b.Run("block", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Strip(block + Separator + human)
		}
	})
}
