// Command flowgate runs Flowgate with the example workflows: dev has them always, serve and worker with --examples. A
// host that brings workflows of its own has a main like this one.
package main

import (
	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
)

func main() { app.Main(app.Examples(workflows.Each)...) }
