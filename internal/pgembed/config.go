package pgembed

// Config says where a private server lives and how it runs.
type Config struct {
	// Dir is the folder of the server, made when it is missing. Two servers never share one; a second Start on the
	// same folder attaches to the first one's server. The socket's path, Dir plus 20 bytes, may have 100 bytes.
	Dir string
	// BinDir is the folder that holds postgres and initdb. Empty means what FindBin finds.
	BinDir string
	// Template is a cleanly stopped data directory to copy instead of running initdb. Only a first start reads it.
	Template string
	// Durable keeps fsync on. Without it a crash of the machine may lose or damage the data: right for tests only.
	Durable bool
	// Params are further server settings, each "name=value". They win over the settings of this package.
	Params []string

	// guarded has a shell watch this process even where the kernel does.
	guarded bool
}
