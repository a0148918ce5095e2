package ambient

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds names of tenants, agents, users and channels, in bytes.
const maxName = 256

// errNoTenant says that a scope lacks what it must have.
var errNoTenant = errors.New("a scope needs a tenant and an agent")

// Scope is whose surroundings are meant, and who wants to know: an agent of a tenant, and the user and channel of a
// request, each empty when there is none. Only [NewScope] makes one.
type Scope struct {
	tenant, agent, user, channel string
	private                      bool // the channel is
}

// NewScope returns the scope of a request. It errs on a missing tenant or agent, and on names that are too long, no UTF-8
// or hold control characters.
func NewScope(tenant, agent, user, channel string, privateChannel bool) (Scope, error) {
	if tenant == "" || agent == "" {
		return Scope{}, errNoTenant
	}
	for _, name := range []string{tenant, agent, user, channel} {
		if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return Scope{}, fmt.Errorf("a name of %d bytes can't be one", len(name))
		}
	}
	return Scope{tenant: tenant, agent: agent, user: user, channel: channel, private: privateChannel && channel != ""}, nil
}

// Audience is who may be shown something: everybody, the members of a private channel, or one user.
type Audience string

// Everybody who talks to the agent.
const Everybody Audience = ""

// What an audience that isn't everybody begins with.
const (
	ofChannel = "c/"
	ofUser    = "u/"
)

func channelAudience(channel string) Audience { return Audience(ofChannel + channel) }
func userAudience(user string) Audience       { return Audience(ofUser + user) }

// user is whose audience it is, "" when it isn't one user's.
func (a Audience) user() string {
	user, ok := strings.CutPrefix(string(a), ofUser)
	if !ok {
		return ""
	}
	return user
}

// kind says what sort of audience it is.
func (a Audience) kind() string {
	switch {
	case a == Everybody:
		return "everybody"
	case strings.HasPrefix(string(a), ofChannel):
		return "channel"
	}
	return "user"
}

// Audience is who hears what is said in the scope's place: everybody in an open channel, else the channel's members,
// else, in no channel, the user alone.
func (s Scope) Audience() Audience {
	switch {
	case s.private:
		return channelAudience(s.channel)
	case s.channel == "" && s.user != "":
		return userAudience(s.user)
	}
	return Everybody
}

// mayRead lists the audiences that a request of the scope belongs to.
func (s Scope) mayRead() []Audience {
	out := []Audience{Everybody}
	if s.private {
		out = append(out, channelAudience(s.channel))
	}
	if s.user != "" {
		out = append(out, userAudience(s.user))
	}
	return out
}
