package loadbalancer

import (
	"sync"

	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// inbox is what happened to endpoints that the single writer has not heard of yet.
type inbox struct {
	mutex    sync.Mutex
	suspects []suspect
	verdicts []verdict
	zone     *string
	changed  chan struct{}
}

// suspect is a member whose answers failed too often, with the last of them.
type suspect struct {
	member *Member
	result Result
}

// verdict is the result of an active check.
type verdict struct {
	probe *probe
	health.Verdict
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{}, 1)} }

func (i *inbox) suspect(member *Member, result Result) {
	i.mutex.Lock()
	i.suspects = append(i.suspects, suspect{member, result})
	i.mutex.Unlock()
	i.tell()
}

func (i *inbox) judged(probe *probe, said health.Verdict) {
	i.mutex.Lock()
	i.verdicts = append(i.verdicts, verdict{probe, said})
	i.mutex.Unlock()
	i.tell()
}

func (i *inbox) moved(zone string) {
	i.mutex.Lock()
	i.zone = &zone
	i.mutex.Unlock()
	i.tell()
}

func (i *inbox) tell() {
	select {
	case i.changed <- struct{}{}:
	default: // The writer knows that there is something.
	}
}

func (i *inbox) take() ([]suspect, []verdict, *string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	suspects, verdicts, zone := i.suspects, i.verdicts, i.zone
	i.suspects, i.verdicts, i.zone = nil, nil, nil
	return suspects, verdicts, zone
}
