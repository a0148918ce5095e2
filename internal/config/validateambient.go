package config

import (
	"path"
	"time"
)

func (c *Config) checkAmbient(k *checker) {
	for _, pattern := range c.Ambient.PrivateChannels {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			k.add("ambient.private_channels", "%q is no pattern: * and ? stand for any characters, and [ needs a ]", clip(pattern))
		}
	}
	k.atLeast("ambient.working_tokens", c.Ambient.WorkingTokens, 100)
	k.positive("ambient.run_idle", c.Ambient.RunIdle)
	k.atLeast("ambient.cache_bytes", c.Ambient.CacheBytes, 1<<20)
	if c.Ambient.EventsTTL < 48*time.Hour { // a day must be there when it is summed up
		k.add("ambient.events_ttl", "must be at least 48h, is %s", formatDuration(c.Ambient.EventsTTL))
	}
	p := c.Ambient.Participants
	k.atLeast("ambient.participants.min", p.Min, 1)
	k.atLeast("ambient.participants.max", p.Max, 1)
	k.atLeast("ambient.participants.tokens", p.Tokens, 1)
	k.positive("ambient.participants.summary_stale_after", p.SummaryStaleAfter)
	k.positive("ambient.participants.summary_interval", p.SummaryInterval)
	k.atLeast("ambient.participants.summaries_per_pass", p.SummariesPerPass, 1)
	k.atLeast("ambient.participants.summary_words", p.SummaryWords, 1)
}
