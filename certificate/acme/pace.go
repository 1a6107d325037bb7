package acme

import (
	"time"

	"github.com/mholt/acmez/v3/acme"
	"golang.org/x/time/rate"
)

// pace limits how fast orders are made. Let's Encrypt has limits on new orders: 300 in 3 hours for an account.
type pace struct {
	limiters []*rate.Limiter
	// consecutive counts orders in a row that were refused for a limit.
	consecutive int
}

const (
	// ordersPerSecond and orderBurst limit orders at every authority.
	ordersPerSecond = 10
	orderBurst      = 20
	// accountOrders is how many orders Let's Encrypt accepts of an account in accountWindow. Some are left for a restart.
	accountOrders = 250
	accountWindow = 3 * time.Hour
	// limitedOrders is the number of orders in a row, refused for a limit, after which all wait.
	limitedOrders = 2
)

func newPace(caServer string) *pace {
	p := &pace{limiters: []*rate.Limiter{rate.NewLimiter(ordersPerSecond, orderBurst)}}
	if directory := directoryOf(caServer); directory == letsEncrypt || directory == letsEncryptStaging {
		p.limiters = append(p.limiters, rate.NewLimiter(rate.Every(accountWindow/accountOrders), accountOrders))
	}
	return p
}

// free returns when the next order may be made.
func (p *pace) free(now time.Time) time.Time {
	free := now
	for _, limiter := range p.limiters {
		if tokens := limiter.TokensAt(now); tokens < 1 {
			missing := time.Duration((1 - tokens) / float64(limiter.Limit()) * float64(time.Second))
			if at := now.Add(missing); at.After(free) {
				free = at
			}
		}
	}
	return free
}

// take counts an order.
func (p *pace) take(now time.Time) {
	for _, limiter := range p.limiters {
		limiter.AllowN(now, 1)
	}
}

// limited reports whether an error is about a limit of the account, rather than of one certificate: several orders in
// a row were refused for it.
func (p *pace) limited(err error) bool {
	if !isProblem(err, acme.ProblemTypeRateLimited) {
		p.consecutive = 0
		return false
	}
	p.consecutive++
	return p.consecutive >= limitedOrders
}
