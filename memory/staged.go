package memory

import (
	"slices"
	"strings"
)

// staged begins what somebody makes up: a role, a story, a riddle, a text that
// is to be worked on. What follows it in a message is no statement.
var staged = compile(`(?i)\b(?:role-?play(?:ing)?|thought experiment|once upon a time|knock knock|hypothetically|(?:logic|riddle|brain) ?(?:puzzle|teaser)s?|here(?:'s| is) a riddle)\b|` +
	`^(?:(?:now|so|ok|okay|please|let's|let us|just|say)[, ]+)*(?:imagine|pretend|suppose|picture this|zamisli|zamislimo|recimo|stell dir vor|imaginons|imagina)\b|` +
	`^(?:(?:now|so|ok|okay|please|can you|could you)[, ]+)*(?:(?:write|tell|continue|make up|invent|finish)(?: me)? (?:\S+ ){0,4}(?:story|dialogue|dialog|scene|script|fairy tale|joke|novel|chapter|character)|` +
	`(?:translate|summari[sz]e|proofread|rewrite|rephrase|paraphrase|shorten|correct) (?:this|that|it|these|the following|the (?:\S+ )?(?:text|sentence|paragraph|letter|e-?mail))|(?:prevedi|ispravi|skrati|sažmi) (?:ovo|tekst|rečenic))\b`)

// stagedWords are those of staged; each match holds one.
var stagedWords = []string{
	"play", "thought experiment", "upon a time", "knock knock", "hypothet", "puzzle", "teaser", "riddle", "imagin", "pretend", "suppose", "picture this", "zamisli",
	"recimo", "stell dir", "story", "dialog", "scene", "script", "tale", "joke", "novel", "chapter", "character", "translate", "summari", "proofread", "rewrite",
	"phrase", "shorten", "correct", "prevedi", "ispravi", "skrati", "sazmi",
}

// beforeStage returns the sentences of a message up to the first that stages
// something.
func beforeStage(message string, list []string) []string {
	if !containsAny(fold(message), stagedWords) {
		return list
	}
	for i, s := range list {
		if staged.MatchString(s) {
			return list[:i]
		}
	}

	return list
}

// riddle is how an exercise asks.
var riddle = compile(`(?i)^(?:(?:so|then|and|now|in total|altogether)[, ]+)*(?:how (?:many|much|old|far|long|tall|fast)|who(?:se)?|which|what (?:is|are|was|will be|fraction|percent\w*|number) |at what|koliko|ko|wie viele?|combien)\b`)

// posed reports whether a message is an exercise: it asks how many or who, and
// nothing in it is about who wrote it.
func posed(message string, list []string) bool {
	if len(list) < 2 || !slices.ContainsFunc(list, func(s string) bool { return marked(s) && riddle.MatchString(s) }) {
		return false
	}
	for i := 0; i < len(message); {
		end := wordEnd(message, i)
		if personWords[strings.ToLower(message[i:end])]&ofWriter != 0 {
			return false
		}
		i = max(end, i+1)
	}

	return true
}
