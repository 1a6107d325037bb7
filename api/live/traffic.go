package live

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// maxNames is the maximum number of routers or services in a query and in a response.
const maxNames = 500

// Overview is the traffic of all entrypoints.
type Overview struct {
	// Time is the time of the counts, in Unix milliseconds.
	Time int64 `json:"time"`
	// EntryPoints are sorted by name.
	EntryPoints []metrics.Traffic `json:"entryPoints"`
	// History holds the samples of the last minutes.
	History metrics.TrafficHistory `json:"history"`
}

func (l *Live) traffic(w http.ResponseWriter, _ *http.Request) {
	l.write(w, http.StatusOK, Overview{
		Time:        time.Now().UnixMilli(),
		EntryPoints: present(l.options.Traffic.Traffic(metrics.TrafficEntrypoints, nil)),
		History:     l.options.Traffic.History(),
	})
}

// RouterTraffic is the traffic of routers.
type RouterTraffic struct {
	// Time is the time of the counts, in Unix milliseconds.
	Time int64 `json:"time"`
	// Routers are sorted by name.
	Routers []metrics.Traffic `json:"routers"`
}

// ServiceTraffic is the traffic of services.
type ServiceTraffic struct {
	// Time is the time of the counts, in Unix milliseconds.
	Time int64 `json:"time"`
	// Services are sorted by name.
	Services []metrics.Traffic `json:"services"`
}

func (l *Live) routerTraffic(w http.ResponseWriter, r *http.Request) {
	if list, ok := l.trafficOf(w, r, metrics.TrafficRouters); ok {
		l.write(w, http.StatusOK, RouterTraffic{Time: time.Now().UnixMilli(), Routers: list})
	}
}

func (l *Live) serviceTraffic(w http.ResponseWriter, r *http.Request) {
	if list, ok := l.trafficOf(w, r, metrics.TrafficServices); ok {
		l.write(w, http.StatusOK, ServiceTraffic{Time: time.Now().UnixMilli(), Services: list})
	}
}

// trafficOf returns the traffic of the names in the query, or of those with the most requests. On errors it answers and
// returns false.
func (l *Live) trafficOf(w http.ResponseWriter, r *http.Request, kind metrics.TrafficKind) ([]metrics.Traffic,
	bool,
) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return nil, false
	}
	names := query["name"]
	if len(names) > maxNames {
		l.refuse(w, http.StatusBadRequest, fmt.Sprintf("query: %d names exceed the maximum of %d", len(names),
			maxNames))
		return nil, false
	}
	return busiest(l.options.Traffic.Traffic(kind, names)), true
}

// busiest returns the maxNames with the most requests, sorted by name.
func busiest(list []metrics.Traffic) []metrics.Traffic {
	if len(list) <= maxNames {
		return present(list)
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b metrics.Traffic) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	list = list[:maxNames]
	slices.SortFunc(list, func(a, b metrics.Traffic) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// present replaces nil, so that JSON has a list.
func present(list []metrics.Traffic) []metrics.Traffic {
	if list == nil {
		return []metrics.Traffic{}
	}
	return list
}
