package live

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// maxNames is how many routers or services one question may name, and an answer lists.
const maxNames = 500

// Overview is the traffic of all entrypoints, as JSON.
type Overview struct {
	// Time is when it was counted, in Unix milliseconds.
	Time int64 `json:"time"`
	// EntryPoints are in order of their names.
	EntryPoints []telemetry.Traffic `json:"entryPoints"`
	// History holds the samples of the last minutes.
	History telemetry.TrafficHistory `json:"history"`
}

func (l *Live) traffic(w http.ResponseWriter, _ *http.Request) {
	l.write(w, http.StatusOK, Overview{
		Time:        time.Now().UnixMilli(),
		EntryPoints: present(l.options.Traffic.Traffic(telemetry.TrafficEntrypoints, nil)),
		History:     l.options.Traffic.History(),
	})
}

// RouterTraffic is the traffic of routers, as JSON.
type RouterTraffic struct {
	// Time is when it was counted, in Unix milliseconds.
	Time int64 `json:"time"`
	// Routers are in order of their names.
	Routers []telemetry.Traffic `json:"routers"`
}

// ServiceTraffic is the traffic of services, as JSON.
type ServiceTraffic struct {
	// Time is when it was counted, in Unix milliseconds.
	Time int64 `json:"time"`
	// Services are in order of their names.
	Services []telemetry.Traffic `json:"services"`
}

func (l *Live) routerTraffic(w http.ResponseWriter, r *http.Request) {
	if list, ok := l.trafficOf(w, r, telemetry.TrafficRouters); ok {
		l.write(w, http.StatusOK, RouterTraffic{Time: time.Now().UnixMilli(), Routers: list})
	}
}

func (l *Live) serviceTraffic(w http.ResponseWriter, r *http.Request) {
	if list, ok := l.trafficOf(w, r, telemetry.TrafficServices); ok {
		l.write(w, http.StatusOK, ServiceTraffic{Time: time.Now().UnixMilli(), Services: list})
	}
}

// trafficOf returns the traffic of those that the query names, or has written why it can't. Where it names none, they
// are those with the most requests.
func (l *Live) trafficOf(w http.ResponseWriter, r *http.Request, kind telemetry.TrafficKind) ([]telemetry.Traffic,
	bool,
) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return nil, false
	}
	names := query["name"]
	if len(names) > maxNames {
		l.refuse(w, http.StatusBadRequest, fmt.Sprintf("query: name is there %d times, and %d are the most", len(names),
			maxNames))
		return nil, false
	}
	return busiest(l.options.Traffic.Traffic(kind, names)), true
}

// busiest returns the maxNames with the most requests, in order of their names.
func busiest(list []telemetry.Traffic) []telemetry.Traffic {
	if len(list) <= maxNames {
		return present(list)
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b telemetry.Traffic) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	list = list[:maxNames]
	slices.SortFunc(list, func(a, b telemetry.Traffic) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// present returns a list that JSON shows as one, also without elements.
func present(list []telemetry.Traffic) []telemetry.Traffic {
	if list == nil {
		return []telemetry.Traffic{}
	}
	return list
}
