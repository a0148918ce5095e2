package proxy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/scoring"
)

// Our own request headers. None of them is forwarded.
const (
	headerAgent        = "X-Agent-Id"
	headerUser         = "X-User-Id"
	headerUserName     = "X-User-Name"
	headerPlatform     = "X-Platform"
	headerWorkspace    = "X-Workspace"
	headerSession      = "X-Session-Id"
	headerChannel      = "X-Channel-Id"
	headerChannelName  = "X-Channel-Name"
	headerPrivate      = "X-Channel-Private"
	headerProfile      = "X-Routing-Profile"
	headerProfileSnake = "routing_profile"
	headerProcess      = "X-Process-Type"
	headerTask         = "X-Task-Type"
	headerTier         = "X-Tier"
	headerContext      = "X-Context-Mode"
	headerMemory       = "X-Memory"
	headerBypass       = "X-Bypass"
	headerTrigger      = "X-Trigger"
)

var ownHeaders = []string{
	headerAgent, headerUser, headerUserName, headerPlatform, headerWorkspace, headerSession, headerChannel, headerChannelName, headerPrivate, headerProfile,
	headerProfileSnake, headerProcess, headerTask, headerTier, headerContext, headerMemory, headerBypass, headerTrigger,
}

// agentSessions are headers in which coding agents name their session. They
// are not ours and are forwarded.
var agentSessions = []string{"X-Claude-Code-Session-Id", "Session_id", "Session-Id", "X-Session-Affinity", "X-Opencode-Session", "Conversation_id"}

// Our own response headers.
const (
	headerRequestID  = "X-Request-Id"
	headerUpstreamID = "X-Upstream-Request-Id" // the upstream's own X-Request-Id
	headerModel      = "X-Routed-Model"
	headerPromptTier = "X-Prompt-Tier"
	headerScore      = "X-Prompt-Score"
	headerShape      = "X-Task-Shape"
	headerReason     = "X-Route-Reason"
	headerMemoryUsed = "X-Memory-Used"
	headerCost       = "X-Cost-Usd"
	headerSaved      = "X-Saved-Usd"
)

// maxIdentifier bounds identifiers from headers: they become keys and rows.
const maxIdentifier = 256

var (
	processTypes = []string{"channel", "branch", "worker", "compactor", "cortex"}
	contextModes = []string{"none", "ambient", "briefed"}
	memoryModes  = []string{"on", "read", "off"}
)

// identity is who is asking and how, as the headers say. Everything in it is a
// copy: it outlives the handler.
type identity struct {
	tenant, agent, user, channel string
	userName, platform           string
	workspace                    string
	channelName, trigger         string
	private                      bool   // the channel is
	session                      string // X-Session-Id, "" when absent
	agentSession                 string // a coding agent's own header, "" when absent
	profile, process, task       string
	keyProfile                   string // of the caller's key
	context, memory              string
	placed                       bool // a channel or a context mode is named: the request is an agent's that wants its surroundings
	forced                       bool
	tier                         scoring.Tier
	bypass                       bool
}

// identify reads the headers. The error is a *chat.Error naming the header.
func identify(h *fasthttp.RequestHeader, caller Caller) (identity, error) {
	r := headerReader{h: h}
	id := identity{
		tenant:  caller.Tenant,
		agent:   r.text(headerAgent, "default"),
		user:    r.text(headerUser, ""),
		channel: r.text(headerChannel, ""),
		private: r.flag(headerPrivate),
		trigger: r.text(headerTrigger, ""),

		userName:    r.text(headerUserName, ""),
		platform:    r.text(headerPlatform, ""),
		workspace:   r.text(headerWorkspace, ""),
		channelName: r.text(headerChannelName, ""),

		session: r.text(headerSession, ""),
		profile: r.text(headerProfile, r.text(headerProfileSnake, "")),
		process: r.oneOf(headerProcess, processTypes, "channel"),
		task:    r.text(headerTask, ""),
		memory:  r.oneOf(headerMemory, memoryModes, "on"),
		bypass:  r.flag(headerBypass),
	}
	if caller.Agent != "" {
		id.agent = caller.Agent
	}
	for _, name := range agentSessions {
		if v := h.Peek(name); len(v) > 0 && len(v) <= maxIdentifier && id.agentSession == "" {
			id.agentSession = string(v)
		}
	}
	id.keyProfile = caller.Profile
	ambient := "ambient"
	if id.process == "worker" {
		ambient = "none"
	}
	id.context = r.oneOf(headerContext, contextModes, ambient)
	id.placed = id.channel != "" || r.text(headerContext, "") != ""
	if tier := r.oneOf(headerTier, []string{"light", "standard", "heavy"}, ""); tier != "" {
		id.forced = true
		id.tier, _ = scoring.ParseTier(tier)
	}
	return id, r.err
}

// headerReader reads bounded values and keeps the first problem.
type headerReader struct {
	h   *fasthttp.RequestHeader
	err error
}

func (r *headerReader) text(name, absent string) string {
	v := strings.TrimSpace(string(r.h.Peek(name)))
	if v == "" {
		return absent
	}
	if len(v) > maxIdentifier {
		r.fail(name, fmt.Sprintf("%s is longer than %d bytes.", name, maxIdentifier))
		return absent
	}
	return v
}

func (r *headerReader) oneOf(name string, known []string, absent string) string {
	v := strings.ToLower(r.text(name, absent))
	if v != absent && !slices.Contains(known, v) {
		r.fail(name, fmt.Sprintf("%s is %q; it takes %s.", name, v, strings.Join(known, ", ")))
		return absent
	}
	return v
}

func (r *headerReader) flag(name string) bool {
	on, err := strconv.ParseBool(r.text(name, "false"))
	if err != nil {
		r.fail(name, name+" takes true or false.")
	}
	return on
}

func (r *headerReader) fail(name, message string) {
	if r.err == nil {
		r.err = &chat.Error{Status: 400, Code: chat.CodeInvalidHeader, Param: name, Message: message}
	}
}

// adopt takes the user from the body where the headers name none. A name that
// can't be one is still somebody: what they say must not become everybody's.
func (id *identity) adopt(v *chat.View) {
	if id.user != "" {
		return
	}
	id.user = v.User()
	if len(id.user) > maxIdentifier || !utf8.ValidString(id.user) || strings.ContainsFunc(id.user, unicode.IsControl) {
		id.user = "sha256:" + digest(id.user)
	}
}

// sessionKey names the conversation, namespaced by tenant and agent. Without
// our session header a coding agent's own or the body's hint counts, together
// with the system prompt and the tools, because subagents share the hint;
// without that the first human words do, and guessed is true: two conversations
// that begin alike are then one.
func (id *identity) sessionKey(v *chat.View, humans []int, account string) (key string, guessed bool) {
	if id.session != "" {
		return digest(id.tenant, id.agent, "header", id.session), false
	}
	system := ""
	if at := v.Leading(); at >= 0 {
		system = v.Text(at)
	}
	hint := id.agentSession
	if hint == "" {
		hint = v.SessionHint()
	}
	if hint != "" {
		return digest(id.tenant, id.agent, "hint", hint, system, v.ToolNames), false
	}
	first := ""
	if len(humans) > 0 {
		first = v.Text(humans[0])
	}
	return digest(id.tenant, id.agent, "words", account, id.user, system, v.ToolNames, first), true
}

// frame tells system prompts and lists of tools apart; it means nothing beyond
// this process.
func (s *Server) frame(v *chat.View) uint64 {
	h := maphash.String(s.seed, v.ToolNames)
	if at := v.Leading(); at >= 0 {
		content := v.Messages[at].Content
		h ^= maphash.Bytes(s.seed, v.Raw[content.Start:content.End]) * 31
	}
	return h
}

// digest hashes parts so that no two lists of parts collide by concatenation.
func digest(parts ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		io.WriteString(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
