package config

import "time"

// The process types, in the order in which people meet them.
func processTypes() []string { return []string{"channel", "branch", "worker", "compactor", "cortex"} }

// Default returns the shipped configuration, which works with an OpenAI API key alone: every default of the product
// is here, and config.yaml at the root of the project says the same with comments. Each call returns a fresh tree.
func Default() Config {
	return Config{
		Listen:    "127.0.0.1:8484",
		DataDir:   "./data",
		Log:       Log{Level: "info", Format: "text"},
		Upstreams: map[string]Upstream{"default": defaultUpstream()},
		// Cheapest first. Price, window and abilities come from the built-in price list.
		Models: []Model{
			{Name: "gpt-5.6-luna", ID: "gpt-5.6-luna", Upstream: "default", Tier: "small"},
			{Name: "gpt-5.6-terra", ID: "gpt-5.6-terra", Upstream: "default", Tier: "mid"},
			{Name: "gpt-5.6-sol", ID: "gpt-5.6-sol", Upstream: "default", Tier: "frontier"},
		},
		Routing: defaultRouting(),
		Agents:  map[string]Agent{},
		Memory: Memory{
			Enabled: true, Capture: "turns", TurnTTL: 90 * 24 * time.Hour, Timezone: "UTC", Queue: 1024, IndexBytes: 64 << 20,
			Embedder: Embedder{MinCosine: 0.6},
		},
		Ambient: Ambient{
			Enabled: true, WorkingTokens: 1500, EventsTTL: 30 * 24 * time.Hour, RunIdle: 5 * time.Minute, CacheBytes: 32 << 20, KnowledgeWords: 500, PrivateChannels: []string{},
			Briefing:   Briefing{Timeout: 2 * time.Second, Relevance: 0.6},
			Background: Background{CallsPerHour: 60},
			Participants: Participants{
				Min: 2, Max: 5, Tokens: 400, SummaryStaleAfter: time.Hour, SummaryInterval: 5 * time.Minute, SummariesPerPass: 10, SummaryWords: 100,
			},
		},
		Assemble: Assemble{
			Enabled: true, Placement: "epoch", MaxSystemChars: 32000, ConfidenceThreshold: 0.3,
			Capture: Capture{Enabled: true, TTL: time.Hour, Bytes: 16 << 20},
		},
		Ledger: Ledger{Retention: 90 * 24 * time.Hour},
		OTel:   OTel{Service: "understudy"},
		Auth:   Auth{Mode: "none", Keys: []Key{}, AllowedHosts: []string{}},
		// 64 KiB of headers: 4 KiB, the usual buffer, is less than some clients send.
		Limits:   Limits{BodyBytes: 32 << 20, HeaderBytes: 64 << 10, SmartBudget: 25 * time.Millisecond},
		Shutdown: Shutdown{Grace: 30 * time.Second},
	}
}

func defaultUpstream() Upstream {
	u := Upstream{BaseURL: "https://api.openai.com/v1", APIKeyEnv: "OPENAI_API_KEY"}
	u.setDefaults()
	return u
}

func defaultRouting() Routing {
	const light, standard, heavy = "gpt-5.6-luna", "gpt-5.6-terra", "gpt-5.6-sol"
	return Routing{
		Enabled:        true,
		ExplicitModels: "cheaper",
		Profile:        "balanced",
		Profiles: map[string]Profile{
			"eco":      {Light: light, Standard: light, Heavy: standard},
			"balanced": {Light: light, Standard: standard, Heavy: heavy},
			"premium":  {Light: standard, Standard: heavy, Heavy: heavy},
		},
		ProcessTypes: map[string]string{
			"channel": standard, "branch": standard, "worker": light, "compactor": light, "cortex": light,
		},
		TaskOverrides: map[string]string{},
		Fallbacks:     map[string][]string{},
		PromptRouting: PromptRouting{
			ProcessTypes: []string{"channel", "branch"},
			Scorer:       "learned",
			Boundaries:   Boundaries{LightStandard: 0, StandardHeavy: 0.4},
			Weights: map[string]float64{
				"token_count": 0.10, "code_presence": 0.20, "reasoning_markers": 0.20, "simple_indicators": 0.15,
				"technical_depth": 0.15, "multi_step": 0.10, "constraint_complexity": 0.10,
			},
			Keywords:      map[string]Keywords{},
			MinConfidence: 0.55, // trusts a score that is more than 0.017 from a boundary
		},
		Session: Session{Idle: 30 * time.Minute, CacheTTL: 5 * time.Minute, Horizon: 3, DownAfter: 2, MinGainUSD: 0.001, MaxSessions: 10000},
	}
}

// setDefaults fills what a model of the file need not say.
func (m *Model) setDefaults() { m.Upstream = "default" }
