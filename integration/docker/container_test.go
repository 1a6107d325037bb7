package docker

import (
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// host are the labels that route a host to a container, as a router of the name.
func host(router, name string) map[string]string {
	return map[string]string{"traefik.http.routers." + router + ".rule": "Host(`" + name + "`)"}
}

// TestContainers goes through what happens to containers, on one engine.
func TestContainers(t *testing.T) {
	e := startEngine(t)
	before := e.run(spec{name: "before"})
	g := open(t, e.socket)
	g.becomes("before/", answers(before))

	for name, test := range map[string]func(*testing.T, *engine, *gate){
		"life": life, "rename": rename, "health": health, "networks": networks, "scale": scale, "wrong labels": wrong,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, e.on(t), g.on(t))
			g.on(t).becomes("before/", answers(before))
		})
	}
}

// life expects that a container has a route for as long as it runs.
func life(t *testing.T, e *engine, g *gate) {
	id := e.run(spec{name: "life", labels: host("life", "life.test")})
	g.becomes("life.test/", answers(id))
	if _, err := e.ContainerPause(t.Context(), id, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	g.becomes("life.test/", "404")
	if _, err := e.ContainerUnpause(t.Context(), id, client.ContainerUnpauseOptions{}); err != nil {
		t.Fatal(err)
	}
	g.becomes("life.test/", answers(id))
	if _, err := e.ContainerRestart(t.Context(), id, client.ContainerRestartOptions{}); err != nil {
		t.Fatal(err)
	}
	g.becomes("life.test/", answers(id))
	if _, err := e.ContainerStop(t.Context(), id, client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
	g.becomes("life.test/", "404")
	e.begin(id)
	g.becomes("life.test/", answers(id))
	e.remove(id)
	g.becomes("life.test/", "404")
}

// rename expects that a default rule follows the container's name.
func rename(t *testing.T, e *engine, g *gate) {
	id := e.run(spec{name: "old"})
	g.becomes("old/", answers(id))
	if _, err := e.ContainerRename(t.Context(), id, client.ContainerRenameOptions{NewName: "new"}); err != nil {
		t.Fatal(err)
	}
	g.becomes("new/", answers(id))
	g.becomes("old/", "404")
	e.remove(id)
	g.becomes("new/", "404")
}

// wrong expects that wrong labels cost the container's route, with a verdict that helps.
func wrong(t *testing.T, e *engine, g *gate) {
	labels := host("wrong", "wrong.test")
	labels["traefik.http.routers.wrong.middlewars"] = "auth@file"
	id := e.run(spec{name: "wrong", labels: labels})
	g.becomes("wrong.test/", "503")
	readiness := g.Until("the verdict", func(r harness.Readiness) bool { return len(r.Verdicts) > 0 })
	verdict := readiness.Verdicts[0]
	if verdict.Origin != "container wrong" || !strings.Contains(verdict.Reason,
		`traefik.http.routers.wrong.middlewars: unknown option, did you mean "middlewares"?`) {
		t.Errorf("the verdict is %+v", verdict)
	}
	e.remove(id)
	g.becomes("wrong.test/", "404")
}

// health expects that only a healthy container gets traffic.
func health(t *testing.T, e *engine, g *gate) {
	id := e.run(spec{
		name: "health", labels: host("health", "health.test"), env: []string{"SICK=1"},
		health: &container.HealthConfig{
			Test: []string{"CMD", "/web", "check"}, Interval: 100 * time.Millisecond, Timeout: 5 * time.Second, Retries: 1,
		},
	})
	address := e.address(id, "bridge")
	probe := harness.NewClient(t, harness.H1, address+":80", "probe.test", nil)
	eventually(t, "the container listens", func() bool {
		_, err := probe.Try(probe.Request("GET", "/", nil))
		return err == nil
	})
	g.becomes("health.test/", "404")
	probe.Get("/well")
	g.becomes("health.test/", answers(id))
	probe.Get("/sick")
	g.becomes("health.test/", "404")
	e.remove(id)
}

// address returns a container's address in a network.
func (e *engine) address(id, network string) string {
	e.t.Helper()
	result, err := e.ContainerInspect(e.t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return result.Container.NetworkSettings.Networks[network].IPAddress.String()
}

// networks expects that containers are reached wherever they are attached.
func networks(t *testing.T, e *engine, g *gate) {
	for _, name := range []string{"front", "back"} {
		if _, err := e.NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "bridge"}); err != nil {
			t.Fatal(err)
		}
	}
	labels := host("two", "two.test")
	labels["traefik.docker.network"] = "back"
	two := e.run(spec{name: "two", labels: labels, mode: "front"})
	g.becomes("two.test/", answers(two))
	if _, err := e.NetworkConnect(t.Context(), "back", client.NetworkConnectOptions{Container: two}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.NetworkDisconnect(t.Context(), "front", client.NetworkDisconnectOptions{Container: two}); err != nil {
		t.Fatal(err)
	}
	g.becomes("two.test/", answers(two))
	labels = host("shared", "shared.test")
	labels["traefik.http.services.shared.loadbalancer.server.port"] = "81"
	shared := e.run(spec{name: "shared", labels: labels, mode: "container:" + two, env: []string{"PORT=81"}})
	g.becomes("shared.test/", answers(two)) // They share a host name as well.
	labels = host("hosted", "hosted.test")
	labels["traefik.http.services.hosted.loadbalancer.server.port"] = "8123"
	hosted := e.run(spec{name: "hosted", labels: labels, mode: "host", env: []string{"PORT=8123"}})
	eventually(t, "hosted.test", func() bool { return strings.HasPrefix(g.ask("hosted.test/"), "200 ") })
	several := e.run(spec{
		name: "several", labels: host("several", "several.test"), exposed: []string{"8081/tcp", "53/udp"},
		env:   []string{"PORT=80"},
		ports: network.PortMap{network.MustParsePort("80/tcp"): {{HostPort: "8124"}}},
	})
	g.becomes("several.test/", answers(several))
	for _, id := range []string{shared, two, hosted, several} {
		e.remove(id)
	}
	g.becomes("shared.test/", "404")
}

// scale expects that containers of one service come and go without a new table.
func scale(t *testing.T, e *engine, g *gate) {
	labels := host("shop", "shop.test")
	labels["com.docker.compose.project"], labels["com.docker.compose.service"] = "shop", "web"
	first := e.run(spec{name: "shop_web_1", labels: labels})
	g.becomes("shop.test/", answers(first))
	generation := g.Readiness().Generation
	second, third := e.run(spec{name: "shop_web_2", labels: labels}), e.run(spec{name: "shop_web_3", labels: labels})
	eventually(t, "all three answer", func() bool {
		reached := g.reach("shop.test/")
		return reached[answers(first)] && reached[answers(second)] && reached[answers(third)] && len(reached) == 3
	})
	e.remove(first)
	eventually(t, "two answer", func() bool {
		reached := g.reach("shop.test/")
		return reached[answers(second)] && reached[answers(third)] && len(reached) == 2
	})
	if now := g.Readiness().Generation; now != generation {
		t.Errorf("the table has got the generation %d, want %d still: only endpoints have changed", now, generation)
	}
	e.remove(second)
	e.remove(third)
	g.becomes("shop.test/", "404")
}
