package certificate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"
)

// exportedSecret is a secret of a process for another one.
type exportedSecret struct {
	Secret  []byte    `json:"secret"`
	Ends    time.Time `json:"ends"`
	Expires time.Time `json:"expires"`
}

// Export returns the secrets of this process for Import in another one. They are to be kept secret. What Share has set
// is not among them.
func (t *Tickets) Export() []byte {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	exported := make([]exportedSecret, 0, len(t.own))
	for i := range t.own {
		exported = append(exported, exportedSecret{t.own[i].secret[:], t.own[i].ends, t.own[i].expires})
	}
	data, _ := json.Marshal(exported) // Bytes and times can always be written.
	return data
}

// Import replaces the secrets of this process by those of another one, so that clients resume the sessions that they
// have begun there. The first one encrypts new tickets until the next rotation. After an error, which does not show the
// data, nothing has changed. Expired secrets are left out.
func (t *Tickets) Import(data []byte) error {
	var exported []exportedSecret
	if json.Unmarshal(data, &exported) != nil {
		return errors.New("the secrets of session tickets are not JSON as expected")
	}
	now := time.Now()
	own := make([]ownSecret, 0, len(exported))
	for _, one := range exported {
		if len(one.Secret) != sha256.Size || one.Ends.After(one.Expires) ||
			one.Expires.Sub(now) > ticketsKept*ticketRotation {
			return errors.New("a secret of session tickets has a wrong size or time")
		}
		if now.Before(one.Expires) {
			own = append(own, ownSecret{secret: [sha256.Size]byte(one.Secret), ends: one.Ends, expires: one.Expires})
		}
	}
	if len(own) == 0 {
		return nil
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.own = own
	t.change(now)
	return nil
}
