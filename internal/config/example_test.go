package config_test

import (
	"fmt"

	"github.com/understudy-ai/understudy/internal/config"
)

// Flags win over the environment, and both over the file and the defaults; each value knows where it came from.
func ExampleLoad() {
	l, err := config.Load(config.Options{
		Env:   []string{"UNDERSTUDY_ROUTING_PROFILE=eco", "UNDERSTUDY_MEMORY_CAPTURE=facts"},
		Flags: map[string]string{"memory.capture": "off"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Config.Routing.Profile, "from", l.Sources["routing.profile"])
	fmt.Println(l.Config.Memory.Capture, "from", l.Sources["memory.capture"])
	fmt.Println(l.Config.Listen, "from", l.Sources["listen"])
	// Output:
	// eco from env UNDERSTUDY_ROUTING_PROFILE
	// off from flag
	// 127.0.0.1:8484 from default
}

// Every broken rule is reported at once, by its key.
func ExampleConfig_Validate() {
	c := config.Default()
	c.Listen = "0.0.0.0:8484"
	c.Log.Level = "inof"
	fmt.Println(c.Validate())
	// Output:
	// listen: "0.0.0.0:8484" can be reached from other machines, which auth.mode none does not allow: listen on 127.0.0.1, or set auth.mode to keys or passthrough
	// log.level: unknown value "inof", did you mean "info"?
}
