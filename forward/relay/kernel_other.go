//go:build !linux

package relay

// rawAccess is whether descriptors are read and written past the connection.
const rawAccess = false

type (
	kernel struct{}
	pipes  struct{}
)

func (*kernel) init(*flow) {}

func (*flow) expect() error { return nil }

func (f *flow) passRaw() (*end, error) { return f.passStream() }

func (f *flow) writeRaw() error { return nil }

func (f *flow) putPipe() {}

func (f *flow) watch() {}
