package memory

import (
	"slices"
	"strings"
)

var (
	// measures are nouns of what is one number.
	measures = foldedSet(`limit quota budget rent price fee cost rate threshold timeout capacity maximum minimum size port deposit mortgage income revenue
		weight height headcount population ttl retention target goal salary wage commute`)

	// units of one kind give way to each other; no other units do.
	units = map[string]string{
		"eur": "", "euro": "", "euros": "", "€": "", "dollar": "", "dollars": "", "usd": "", "$": "", "£": "", "pounds": "", "gbp": "", "chf": "", "rsd": "", "dinars": "",
		"ms": "time", "milliseconds": "time", "s": "time", "seconds": "time", "second": "time", "minutes": "time", "minute": "time", "min": "time", "hours": "time", "hour": "time",
		"kb": "bytes", "mb": "bytes", "gb": "bytes", "tb": "bytes", "k": "", "thousand": "", "million": "", "billion": "", "evra": "", "dinara": "", "kg": "kg", "cm": "cm", "m": "m",
	}
)

// measureOf parts "limit of free plan" and "gym's price" into the noun of what is
// measured and the rest.
func measureOf(of []string) (noun string, rest []string) {
	at := slices.IndexFunc(of, func(word string) bool {
		return word == "of" || word == "for" || word == "in" || word == "on" || word == "at"
	})
	head := of
	if at > 0 {
		head = of[:at]
		for _, word := range of[at:] {
			if word != "of" && word != "for" {
				rest = append(rest, word)
			}
		}
	} else if at == 0 {
		return "", nil
	}
	rest = slices.Concat(rest, head[:len(head)-1])
	for i := range rest {
		rest[i] = strings.TrimSuffix(rest[i], "'s")
	}

	return head[len(head)-1], rest
}

// measured reads a number, with its unit, of a thing.
func measured(whose string, of, rest []string) (subject, attribute, value string) {
	noun, thing := measureOf(of)
	if !measures[noun] {
		return "", "", ""
	}
	if strings.Trim(rest[0], "€$£") == "" && len(rest) > 1 {
		rest = rest[1:]
	}
	digits, unit := number(rest[0])
	if digits == "" {
		return "", "", ""
	}
	suffix, size := unitOf(rest[1:])
	attribute = noun + suffix
	if noun == "rent" || noun == "price" || noun == "fee" {
		attribute = strings.TrimSuffix(attribute, " per month") // as these are paid anyway
	}
	switch {
	case len(thing) > 0:
		return owner(whose, thing), attribute, digits + unit + size
	case whose == "my":
		return "user", attribute, digits + unit + size
	default:
		return noun, "value" + attribute[len(noun):], digits + unit + size
	}
}

// counted reads how many or how much of one kind a thing has.
func counted(whose string, of, rest []string) (subject, attribute, value string) {
	digits, unit := number(rest[0])
	suffix, size := unitOf(rest[1:])
	if digits == "" || len(rest) != 2 || suffix == "" {
		return "", "", ""
	}

	return owner(whose, of), "has" + suffix, digits + unit + size
}

// number parts a number, currency signs aside, from the unit behind it.
func number(word string) (digits, unit string) {
	word = strings.TrimLeft(word, "€$£")
	digits = strings.TrimRight(word, "km%€$£+")
	bare := strings.Map(func(r rune) rune {
		if r == '.' || r == ',' {
			return -1
		}

		return r
	}, digits)
	if !isNumber(bare) {
		return "", ""
	}

	return digits, word[len(digits):]
}

// unitOf returns what the words behind a number make of its attribute, and of
// the number: the unit, and per what or where it holds.
func unitOf(rest []string) (suffix, size string) {
	if len(rest) > 0 && rest[0] != "per" && rest[0] != "for" && rest[0] != "in" && rest[0] != "on" {
		word, rated, _ := strings.Cut(rest[0], "/")
		kind, known := units[word]
		if !known {
			kind = singular(word)
		}
		if kind != "" {
			suffix = " (" + kind + ")"
		}
		if kind == "time" || kind == "bytes" || hasAnySuffix(word, "illion", "k", "thousand") {
			size = " " + word
		}
		if rest = rest[1:]; rated != "" {
			rest = slices.Insert(slices.Clone(rest), 0, "per", rated)
		}
	}
	if len(rest) == 1 && (rest[0] == "month" || rest[0] == "year" || rest[0] == "week" || rest[0] == "day") { // "a" is left out
		rest = []string{"per", rest[0]}
	}
	if len(rest) > 0 {
		suffix += " " + strings.Join(rest, " ")
	}

	return suffix, size
}
