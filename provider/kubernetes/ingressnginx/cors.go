package ingressnginx

import "github.com/sluiceproxy/sluice/dynamic"

// crossOrigin answers preflight requests, and adds the headers of CORS to other responses. Without an origin that is
// allowed it does neither.
func (d *locationDraft) crossOrigin() {
	cors := d.options.CORS
	if cors == nil || len(cors.Origins) == 0 {
		return
	}
	if cors.MaxAge < 0 {
		d.degrade(dynamic.CodeInvalidOption, "cors-max-age is negative: Access-Control-Max-Age is 0, which is the same to "+
			"browsers", false)
	}
	credentials := cors.Credentials
	d.use(phasePreflight, "cors", &dynamic.Middleware{NginxCORS: &dynamic.NginxCORS{
		AllowOrigins: cors.Origins, AllowMethods: cors.Methods, AllowHeaders: cors.Headers,
		ExposeHeaders: cors.ExposeHeaders, AllowCredentials: &credentials, MaxAge: max(0, cors.MaxAge),
	}})
}
