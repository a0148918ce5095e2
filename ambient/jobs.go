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
		background.Job{Name: "digests", Every: digestsEvery, Run: s.wordDigests},
		background.Job{Name: "profiles", Every: s.cfg.People.Interval, Run: s.wordProfiles})
	if s.cfg.Held != nil {
		jobs = append(jobs, background.Job{Name: "knowledge", Every: knowledgeEvery, Run: s.synthesize})
	}
	return jobs
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

// wordDigests has the model word paragraphs and days that rules have worded.
func (s *Store) wordDigests(ctx context.Context) error {
	due, err := s.DueDigests(ctx, digestsAtOnce)
	if err != nil {
		return err
	}
	for _, d := range due {
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
		if _, err := s.SetDigest(ctx, d, text); err != nil {
			return err
		}
	}
	return nil
}

const profileInstructions = "Below is what an agent remembers of a person, and what they said last. Write two or three sentences, in the third person, that tell " +
	"who they are and their role, what they are working on, and how they like to communicate. Where little is known, say little. " + dataRule

// wordProfiles has the model write the profiles that are stale.
func (s *Store) wordProfiles(ctx context.Context) error {
	stale, err := s.StaleProfiles(ctx)
	if err != nil {
		return err
	}
	for _, p := range stale {
		var known, said []string
		for _, k := range p.Known {
			known = append(known, "["+k.Type+"] "+data(k.Content))
		}
		for _, text := range p.Said {
			said = append(said, data(text))
		}
		text, err := s.askAlone(ctx, Question{
			Purpose: "profile", Tenant: p.Tenant, Agent: p.Agent, User: p.Audience.user(), Instructions: profileInstructions,
			Text: tagged("person", []string{data(p.Name)}) + tagged("memories", known) + tagged("said", said),
		}, p.Words)
		if err != nil {
			return err
		}
		if err := s.SetProfile(ctx, p, text); err != nil {
			return err
		}
	}
	return nil
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
