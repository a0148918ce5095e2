package proxy

import (
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// explanation is the whole decision about a request that is not sent.
type explanation struct {
	Identity    explainedIdentity  `json:"identity"`
	Words       string             `json:"words"` // what was scored, at most maxShown of it
	Score       *scoring.Score     `json:"score,omitempty"`
	Shape       *scoring.Shape     `json:"shape,omitempty"`
	Needs       []string           `json:"needs"`
	InputTokens int                `json:"input_tokens"` // estimated
	MaxOutput   int                `json:"max_output,omitempty"`
	Decision    explainedDecision  `json:"decision"`
	Costs       []routing.TierCost `json:"costs"`
	Recalled    []memory.Item      `json:"recalled"`
	Memories    int                `json:"memories_used"`
	Edits       []explainedEdit    `json:"edits"`
	OutBytes    int                `json:"outbound_bytes"`
	FailOpen    string             `json:"fail_open,omitempty"` // the step that failed
	Error       *explainedError    `json:"error,omitempty"`     // that the caller would get
}

type explainedIdentity struct {
	Tenant      string `json:"tenant"`
	Agent       string `json:"agent"`
	User        string `json:"user"`
	Channel     string `json:"channel"`
	Session     string `json:"session"` // key of the conversation
	ProcessType string `json:"process_type"`
	TaskType    string `json:"task_type"`
	ContextMode string `json:"context_mode"`
	Memory      string `json:"memory"`
	Bypass      bool   `json:"bypass"`
}

type explainedDecision struct {
	Requested    string              `json:"requested"`
	Model        string              `json:"model"`
	ID           string              `json:"id"` // what the upstream calls it
	Upstream     string              `json:"upstream"`
	Profile      string              `json:"profile"`
	Tier         string              `json:"tier"`
	Reason       string              `json:"reason"`
	SideCall     bool                `json:"side_call"`
	Baseline     string              `json:"baseline"`
	BaselineWarm *int64              `json:"baseline_warm_tokens,omitempty"`
	Candidates   []routing.Candidate `json:"candidates"`
	Economy      *routing.Economy    `json:"economy,omitempty"`
}

// explainedEdit is a place of the body that would be sent otherwise.
type explainedEdit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

type explainedError struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Param   string `json:"param"`
	Message string `json:"message"`
}

// maxShown bounds the words that an explanation repeats.
const maxShown = 4 << 10

// route explains what would become of a chat request: POST /api/route?tenant=,
// with the body and the headers of one. Nothing is sent, learned or counted,
// and no conversation moves.
func (s *Server) route(c *fiber.Ctx) error {
	ctx := c.Context()
	x := &exchange{s: s, start: time.Now(), at: s.cfg.Clock(), forgets: s.forgets.Load(), human: -1, stop: func() {}, dry: true}
	var err error
	if x.who, err = identify(&ctx.Request.Header, Caller{Tenant: adminTenant(c)}); err != nil {
		return err
	}
	if x.body, err = readBody(ctx, nil, s.cfg.Limits.BodyBytes); err != nil {
		return err
	}
	if x.view, err = chat.Parse(x.body); err != nil {
		return err
	}
	x.who.adopt(x.view)
	if x.account = s.account(&ctx.Request.Header); s.cfg.Auth.Mode == AuthPassthrough {
		x.account = x.who.tenant // the key that is here is the admin's; a tenant is the digest of its own
	}
	out, err := x.plan()
	e, ours := errors.AsType[*chat.Error](err)
	if err != nil && !ours {
		return err
	}
	return c.JSON(x.explain(out, e))
}

// explain tells what was decided; out is nil when e is the answer.
func (x *exchange) explain(out *outbound, e *chat.Error) explanation {
	d, who := &x.decision, &x.who
	ex := explanation{
		Identity: explainedIdentity{
			who.tenant, who.agent, who.user, who.channel, x.session, who.process, who.task, who.context, who.memory, who.bypass,
		},
		Words: shown(x.words), Needs: routing.Needed(x.view.Needs), InputTokens: x.view.TextBytes / bytesPerToken, MaxOutput: x.view.MaxOutput,
		Recalled: x.recalled, Memories: x.entry.MemoriesUsed, FailOpen: x.failOpen, Edits: []explainedEdit{},
		Decision: explainedDecision{
			Requested: d.Requested, Profile: d.Profile, Tier: d.Tier.String(), Reason: d.Reason, SideCall: x.sideCall,
			BaselineWarm: d.BaselineWarm, Candidates: d.Candidates, Economy: d.Economy,
		},
	}
	if x.scored {
		ex.Score, ex.Shape = &x.score, &x.shape
	}
	if d.Model != nil {
		ex.Decision.Model, ex.Decision.ID, ex.Decision.Upstream = d.Model.Name, d.Model.ID, d.Model.Upstream
	}
	if d.Baseline != nil {
		ex.Decision.Baseline = d.Baseline.Name
	}
	if x.s.cfg.Router != nil && !who.bypass {
		ex.Costs = x.s.cfg.Router.Costs(x.request, d.Profile)
	}
	if e != nil {
		ex.Error = &explainedError{e.Status, e.Code, e.Param, e.Message}
		return ex
	}
	ex.OutBytes = len(out.body)
	if !who.bypass {
		ex.Edits = explainEdits(x.body, slices.Concat(x.modelEdits(), x.edits, x.added))
	}
	return ex
}

// explainEdits lists edits in the order of the body.
func explainEdits(body []byte, edits []chat.Edit) []explainedEdit {
	out := make([]explainedEdit, 0, len(edits))
	for _, e := range edits {
		out = append(out, explainedEdit{e.At.Start, e.At.End, string(body[e.At.Start:e.At.End]), string(e.New)})
	}
	slices.SortStableFunc(out, func(a, b explainedEdit) int { return a.Start - b.Start })
	return out
}

// shown cuts a text at a character.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
