package router

import "github.com/sluiceproxy/sluice/dynamic"

// Validate returns the verdict on one definition by itself: that of a compilation in which everything that it refers to
// exists and is valid. It is Quarantined where the definition is not. A certificate is a CertificateEntry; everything
// else is a pointer as in dynamic.Configuration.Objects. Validate reads the files that the definition names, and has
// those of a middleware that cannot be used watched, so that it can be validated again; otherwise it changes nothing.
// It belongs to the goroutine that compiles.
func (c *Compiler) Validate(ref dynamic.Ref, object any) dynamic.Verdict {
	trial := c.alone(ref, object)
	var err error
	switch ref.Kind {
	case dynamic.KindRouter:
		err = trial.buildRouter(ref.Name).err
	case dynamic.KindService:
		err = trial.service(ref.Name).err
	case dynamic.KindMiddleware:
		err = trial.middleware(ref.Name).err
		c.instances.refuse(ref.Name, trial.instances.built[ref.Name], err)
	case dynamic.KindServersTransport:
		err = trial.transport(ref).err
	case dynamic.KindTCPRouter:
		err = trial.buildTCPRouter(ref).err
	case dynamic.KindTCPService:
		err = trial.tcp.services.service(trial, ref.Name).err
	case dynamic.KindUDPRouter:
		err = trial.buildUDPRouter(ref).err
	case dynamic.KindUDPService:
		err = trial.udp.services.service(trial, ref.Name).err
	case dynamic.KindTCPMiddleware:
		err = trial.tcpMiddleware(ref.Name).err
	case dynamic.KindTCPServersTransport:
		err = trial.tcpTransport(ref).err
	case dynamic.KindListener:
		if listener, ok := object.(*dynamic.Listener); ok {
			err = c.buildListener(ref.Name, listener).err
		}
	case dynamic.KindTLSOptions:
		trial.tls.claims = trial.tls.claimed(trial.source)
		_, err = trial.tls.options(trial.source, ref)
	case dynamic.KindTLSStore, dynamic.KindCertificate:
		trial.tls.readCertificates(trial.source, trial.options.Resolvers)
		for _, problem := range trial.tls.problems {
			if problem.Ref == ref && problem.Status == dynamic.Quarantined {
				return problem
			}
		}
	}
	if err != nil {
		return quarantine(ref, err)
	}
	return dynamic.Verdict{Ref: ref}
}

// alone returns a compiler of a configuration with one object, in which every reference finds an empty object.
func (c *Compiler) alone(ref dynamic.Ref, object any) *Compiler {
	configuration := &dynamic.Configuration{TLS: &dynamic.TLSConfiguration{}}
	if certificate, ok := object.(*dynamic.CertificateEntry); ok {
		configuration.TLS.Certificates = []*dynamic.CertificateEntry{certificate}
	} else {
		builder := dynamic.NewBuilder(configuration)
		builder.Put(ref, object)
		configuration = builder.Configuration()
	}
	trial := NewCompiler(Options{
		EntryPoints: c.options.EntryPoints, Templates: c.options.Templates, Precedence: c.options.Precedence,
		RuleSyntax: c.options.RuleSyntax, Internal: c.options.Internal, Transport: c.options.Transport,
		TCPTransport: c.options.TCPTransport, PacketEntryPoints: c.options.PacketEntryPoints,
		Middlewares: c.options.Middlewares,
	}, NewActiveTable(c.options.EntryPoints))
	trial.source = newSource(configuration)
	trial.source.stubs = newStubs()
	trial.tls.next, trial.tls.listeners = c.tls.next, c.tls.listeners // It has the certificates that have been read.
	return trial
}
