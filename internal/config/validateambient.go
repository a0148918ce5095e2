package config

import "path"

func (c *Config) checkAmbient(k *checker) {
	for _, pattern := range c.Ambient.PrivateChannels {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			k.add("ambient.private_channels", "%q is no pattern: * and ? stand for any characters, and [ needs a ]", clip(pattern))
		}
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
