// Package config holds the configuration of Understudy: one tree of plain structs, the defaults in one constructor
// ([Default]), and [Load], which lays a strict YAML file, the environment and command-line flags over them in that
// order and then validates the result.
//
// Nothing in a file is guessed or skipped: an unknown or repeated key, a value of the wrong kind and a broken rule
// are errors that name the file, line and column, and all problems of a file are reported at once. Where a value came
// from is kept for each key, so that [Loaded.Print] can show the effective configuration with its sources.
//
// The package reads values and judges them, and does no more: it opens no store, contacts no upstream, knows no price
// list, and holds no API key (it holds the name of the variable or file that has one). Other packages do not import
// it; each has its own Config, which internal/cmd fills from this one.
package config

import "time"

// Config is the whole configuration. It is not changed after [Load] and may be read from many goroutines.
//
// The yaml tags are the one list of keys: reading, environment names, flags and printing all walk this tree.
type Config struct {
	// Listen is the host:port to serve on, of which port 0 takes any free port,
	// or unix:PATH for a Unix socket.
	Listen string `yaml:"listen"`
	// DataDir is the folder of the stores, made when missing. Relative to the working directory, as every path here.
	DataDir string `yaml:"data_dir"`
	Log     Log    `yaml:"log"`
	// Upstreams are the servers that requests may go to, by name.
	Upstreams map[string]Upstream `yaml:"upstreams"`
	// Models are what routing may choose from.
	Models  []Model `yaml:"models"`
	Routing Routing `yaml:"routing"`
	// Agents are the settings of single agents, by the id that callers send.
	Agents   map[string]Agent `yaml:"agents"`
	Memory   Memory           `yaml:"memory"`
	Ambient  Ambient          `yaml:"ambient"`
	Assemble Assemble         `yaml:"assemble"`
	Ledger   Ledger           `yaml:"ledger"`
	OTel     OTel             `yaml:"otel"`
	Auth     Auth             `yaml:"auth"`
	Limits   Limits           `yaml:"limits"`
	Shutdown Shutdown         `yaml:"shutdown"`
}

// Log says what is logged to stderr, and how.
type Log struct {
	// Level is debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is text or json.
	Format string `yaml:"format"`
}

// Model is one model that routing may choose.
type Model struct {
	// Name is what clients, profiles, headers and metrics call the model. Unique.
	Name string `yaml:"name"`
	// ID is what the upstream calls it. Load sets it to Name when it is not given.
	ID string `yaml:"id"`
	// Upstream names an entry of Config.Upstreams.
	Upstream string `yaml:"upstream"`
	// Tier is the model's own size, small, mid or frontier, which decides how much memory and scaffold it gets.
	// Empty: by the model's family.
	Tier string `yaml:"tier"`
	// Context and MaxOutput are in tokens. 0: from the built-in price list.
	Context   int `yaml:"context"`
	MaxOutput int `yaml:"max_output"`
	// Supports lists abilities: tools, vision, audio, file, json_schema, reasoning, n (more than one choice), logprobs. Empty: from the built-in list.
	Supports []string `yaml:"supports"`
	// Price overrides the built-in price list.
	Price Price `yaml:"price"`
}

// Price is in USD per million tokens. Nil is not given, which is never the same as free.
type Price struct {
	Input      *float64 `yaml:"input"`
	Output     *float64 `yaml:"output"`
	CacheRead  *float64 `yaml:"cache_read"`
	CacheWrite *float64 `yaml:"cache_write"`
	// CacheWriteHour is for what is written to be kept for an hour, Reasoning for output that is thought.
	CacheWriteHour *float64  `yaml:"cache_write_1h"`
	Reasoning      *float64  `yaml:"reasoning"`
	Long           LongPrice `yaml:"long"`
}

// LongPrice is the price of all tokens of requests with a long prompt.
type LongPrice struct {
	// Above is the number of prompt tokens beyond which it holds; nil: it never does.
	Above          *float64 `yaml:"above"`
	Input          *float64 `yaml:"input"`
	Output         *float64 `yaml:"output"`
	CacheRead      *float64 `yaml:"cache_read"`
	CacheWrite     *float64 `yaml:"cache_write"`
	CacheWriteHour *float64 `yaml:"cache_write_1h"`
}

// Routing says how a request gets its model.
type Routing struct {
	Enabled bool `yaml:"enabled"`
	// ExplicitModels says what happens to a model that the client named: cheaper (only a cheaper one may take its
	// place), route (the tier decides) or respect (only auto models are routed).
	ExplicitModels string `yaml:"explicit_models"`
	// Profile names the profile of callers that ask for none.
	Profile  string             `yaml:"profile"`
	Profiles map[string]Profile `yaml:"profiles"`
	// ProcessTypes gives each process type (channel, branch, worker, compactor, cortex) its default model.
	ProcessTypes map[string]string `yaml:"process_types"`
	// TaskOverrides gives a task type (any key that callers send, such as coding) a fixed model.
	TaskOverrides map[string]string `yaml:"task_overrides"`
	// Fallbacks gives a model those to try, in order, when it fails before its first byte. Without an entry, a model
	// that routing chose is followed by the client's own and the profile's others; one that the client chose, by none.
	Fallbacks     map[string][]string `yaml:"fallbacks"`
	PromptRouting PromptRouting       `yaml:"prompt_routing"`
	Session       Session             `yaml:"session"`
}

// Profile names the model for each prompt tier.
type Profile struct {
	Light    string `yaml:"light"`
	Standard string `yaml:"standard"`
	Heavy    string `yaml:"heavy"`
}

// PromptRouting says how a message is scored and what the score decides.
type PromptRouting struct {
	// ProcessTypes are those whose model follows the prompt tier; the others keep their default. Empty: none.
	ProcessTypes []string `yaml:"process_types"`
	// Scorer is learned or keyword.
	Scorer     string     `yaml:"scorer"`
	Boundaries Boundaries `yaml:"boundaries"`
	// Weights is each dimension's share of a keyword scorer's score, in [0, 1]. The learned scorer has its own.
	Weights map[string]float64 `yaml:"weights"`
	// Keywords edits the built-in keyword lists, by dimension.
	Keywords map[string]Keywords `yaml:"keywords"`
	// MinConfidence in [0, 1): a score with less is not trusted, and the tier is standard. A score on a boundary
	// has 0.5.
	MinConfidence float64 `yaml:"min_confidence"`
}

// Boundaries are the scores at which one prompt tier ends and the next begins, in [-1, 1].
type Boundaries struct {
	LightStandard float64 `yaml:"light_standard"`
	StandardHeavy float64 `yaml:"standard_heavy"`
}

// Keywords edits one keyword list.
type Keywords struct {
	Add    []string `yaml:"add"`
	Remove []string `yaml:"remove"`
}

// Session says how long a conversation is remembered and when it moves to another model.
type Session struct {
	// Idle ends a session that had no request for so long.
	Idle time.Duration `yaml:"idle"`
	// CacheTTL is how long providers keep a prompt in their cache.
	CacheTTL time.Duration `yaml:"cache_ttl"`
	// Horizon is the number of human turns over which a move to a cheaper model has to pay.
	Horizon int `yaml:"horizon"`
	// DownAfter is how many human turns in a row must ask for less before the tier goes down.
	DownAfter int `yaml:"down_after"`
	// MinGainUSD is what a move must save over the horizon.
	MinGainUSD float64 `yaml:"min_gain_usd"`
	// MaxSessions bounds the sessions held in RAM; the least recently used go first.
	MaxSessions int `yaml:"max_sessions"`
}

// Agent is what is special about one agent.
type Agent struct {
	// Profile names a routing profile. Empty: routing.profile.
	Profile string `yaml:"profile"`
	// Timezone is where the agent's day begins, such as Europe/Belgrade. Empty: memory.timezone.
	Timezone string `yaml:"timezone"`
	// Preset is an identity of the product's own: main, community or engineering. Empty: none.
	Preset string `yaml:"preset"`
	// IdentityDir is a folder with SOUL.md, IDENTITY.md and ROLE.md, each of which takes the place of the preset's.
	// Empty: the agent has no identity files.
	IdentityDir string `yaml:"identity_dir"`
	// Speech adds SPEECH.md to them.
	Speech  bool    `yaml:"speech"`
	Persona Persona `yaml:"persona"`
}

// Persona is a way of speaking that an agent takes on. Both fields, or none.
type Persona struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
}

// Memory says what is learned from conversations.
type Memory struct {
	Enabled bool `yaml:"enabled"`
	// Capture is turns (what was said, and facts from it), facts (only these) or off (recall, learn nothing).
	Capture string `yaml:"capture"`
	// TurnTTL is how long turns are kept. Facts stay until they are forgotten.
	TurnTTL time.Duration `yaml:"turn_ttl"`
	// Timezone is where the day of dates begins, such as Europe/Belgrade.
	Timezone string `yaml:"timezone"`
	// Queue is how many answered exchanges may wait to be learned.
	Queue int `yaml:"queue"`
	// IndexBytes bounds the search indexes held in RAM; what does not fit is searched in the file.
	IndexBytes int `yaml:"index_bytes"`
	// Extractor is off by default: it costs a call for each exchange.
	Extractor Extractor `yaml:"extractor"`
	// Embedder is off by default: a table in the binary needs no calls.
	Embedder Embedder `yaml:"embedder"`
}

// Extractor says which model looks for memories in what people say, beside the rules.
type Extractor struct {
	// Model is a name in models. Empty: none does.
	Model string `yaml:"model"`
}

// Embedder says which model's embeddings are used for recall, beside the built-in table.
type Embedder struct {
	// Model is a name in models, or any model of the default upstream. Empty: the table alone.
	Model string `yaml:"model"`
	// Dimensions is asked of the model. 0: as many as it has.
	Dimensions int `yaml:"dimensions"`
	// MinCosine in [0, 1] is the similarity from which on a memory is recalled for its meaning alone.
	MinCosine float64 `yaml:"min_cosine"`
}

// Ambient says what is noted of what happens around conversations, and what of it prompts are shown.
type Ambient struct {
	Enabled bool `yaml:"enabled"`
	// KnowledgeWords bounds what prompts are told of what is known in general, in words; 0: nothing.
	KnowledgeWords int `yaml:"knowledge_words"`
	// WorkingTokens bounds what a prompt is told of today, yesterday and the week, in tokens as estimated.
	WorkingTokens int `yaml:"working_tokens"`
	// EventsTTL is how long single events are kept. Summaries of whole days stay.
	EventsTTL time.Duration `yaml:"events_ttl"`
	// RunIdle is after how long without a request a worker's, branch's or timetable's run has ended.
	RunIdle time.Duration `yaml:"run_idle"`
	// CacheBytes bounds what is held in RAM to make prompts of.
	CacheBytes int `yaml:"cache_bytes"`
	// PrivateChannels are the ids or names of channels, with * and ? as in file names, whose members alone may know what
	// is said in them.
	PrivateChannels []string     `yaml:"private_channels"`
	Participants    Participants `yaml:"participants"`
	Briefing        Briefing     `yaml:"briefing"`
	Background      Background   `yaml:"background"`
}

// Briefing says what is told to workers that ask for a briefing.
type Briefing struct {
	// Timeout is how long the first request of such a worker may wait for it.
	Timeout time.Duration `yaml:"timeout"`
	// Relevance in [0, 1] is how much an event must have to do with the task.
	Relevance float64 `yaml:"relevance"`
}

// Background says what may be spent on work that nobody waits for.
type Background struct {
	// Model is a name in models. Empty: everything is done by rules, and nothing is asked of a model.
	Model string `yaml:"model"`
	// CallsPerHour and USDPerHour bound its calls. 0 dollars: no matter what they cost.
	CallsPerHour int     `yaml:"calls_per_hour"`
	USDPerHour   float64 `yaml:"usd_per_hour"`
}

// Participants says what prompts tell of who takes part in a conversation.
type Participants struct {
	// Min is how many people must take part for the section to be there.
	Min int `yaml:"min"`
	// Max and Tokens bound the section.
	Max    int `yaml:"max"`
	Tokens int `yaml:"tokens"`
	// SummaryStaleAfter is how much longer ago than a person was last seen their profile may have been made.
	SummaryStaleAfter time.Duration `yaml:"summary_stale_after"`
	// SummaryInterval is how often stale profiles are looked for, and SummariesPerPass how many are made anew each time.
	SummaryInterval  time.Duration `yaml:"summary_interval"`
	SummariesPerPass int           `yaml:"summaries_per_pass"`
	// SummaryWords bounds a profile.
	SummaryWords int `yaml:"summary_words"`
}

// Assemble says what is added to a prompt, and where.
type Assemble struct {
	Enabled bool `yaml:"enabled"`
	// Placement is epoch (a block frozen per session, kind to provider caches) or system (rendered afresh each turn).
	Placement string `yaml:"placement"`
	// MaxSystemChars bounds what is added, in characters.
	MaxSystemChars int `yaml:"max_system_chars"`
	// ConfidenceThreshold in [0, 1]: a task shape with less gets no response scaffold.
	ConfidenceThreshold float64 `yaml:"confidence_threshold"`
	// TierOverride is the tier of model that every prompt is written for: small, mid or frontier. Empty: the model's own.
	TierOverride string `yaml:"tier_override"`
	// HoldOut is the share of sessions, in [0, 1], that get no scaffold, so that its effect can be measured.
	HoldOut float64 `yaml:"hold_out"`
	Capture Capture `yaml:"capture"`
}

// Capture says what is kept in RAM of the newest prompts, so that /api can show them.
type Capture struct {
	// Enabled keeps texts. Without it /api knows which channels there are, and no more.
	Enabled bool `yaml:"enabled"`
	// TTL is how long a request is kept at most.
	TTL time.Duration `yaml:"ttl"`
	// Bytes bounds all that is kept; the oldest go first.
	Bytes int `yaml:"bytes"`
}

// Ledger says how long accounts are kept.
type Ledger struct {
	// Retention is how long the entry of a single request is kept; 0: for good. Its sums stay.
	Retention time.Duration `yaml:"retention"`
}

// OTel says where traces go.
type OTel struct {
	// Endpoint is that of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. Empty: no traces.
	Endpoint string `yaml:"endpoint"`
	// Service is the name under which they appear.
	Service string `yaml:"service"`
}

// Auth says who may call.
type Auth struct {
	// Mode is none (everyone who can reach a loopback address), keys (the callers listed in Keys) or passthrough (the
	// tenant is a hash of the caller's Authorization header, which the upstream judges).
	Mode string `yaml:"mode"`
	// Keys are the callers of mode keys. Their keys are never sent upstream.
	Keys []Key `yaml:"keys"`
	// AdminKeyEnv names the variable that holds the key for /api. Empty, or not set: in mode none /api asks for no
	// key, in the other modes it is closed.
	AdminKeyEnv string `yaml:"admin_key_env"`
	// AllowedHosts are names, beside those of the loopback, by which a browser or client may call in mode none.
	AllowedHosts []string `yaml:"allowed_hosts"`
}

// Key is one caller.
type Key struct {
	// SHA256 is the hash of the caller's key, in hex: printf %s KEY | sha256sum.
	SHA256 string `yaml:"sha256"`
	// Tenant owns what the caller's requests leave behind.
	Tenant string `yaml:"tenant"`
	// Agent, if set, is the agent of all the caller's requests, whatever their headers say.
	Agent string `yaml:"agent"`
	// Profile, if set, is the caller's routing profile unless a request asks for another.
	Profile string `yaml:"profile"`
}

// Limits bounds what one request may take.
type Limits struct {
	// BodyBytes and HeaderBytes are the largest request body and header block accepted.
	BodyBytes   int `yaml:"body_bytes"`
	HeaderBytes int `yaml:"header_bytes"`
	// SmartBudget is the time that scoring, recall, routing and assembly may take together before the request goes
	// on without them.
	SmartBudget time.Duration `yaml:"smart_budget"`
}

// Shutdown says how a stop goes.
type Shutdown struct {
	// Grace is how long answers in progress may take to finish.
	Grace time.Duration `yaml:"grace"`
}
