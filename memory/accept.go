package memory

func extractAfter(before, text string) []draft { return extract(text) }
