// Package app makes programs of Flowgate's parts. It is the only composer: the command flowgate, a host's own binary,
// dev mode and the example programs all start here, so that there is one wiring.
//
//	func main() { app.Main(app.Registration{Spec: invoice.Spec, Workflow: invoice.Approval}) }
//
// It owns commands, settings and their defaults, keys as an operator gives them, the log, the order of start and stop,
// and exit codes. Start brings up a whole Flowgate inside a program that has a main of its own.
//
// It must not know how a message is decided, stored or answered.
package app
