package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// supportedFeatures returns what GatewayClasses declare as supported, sorted: what is translated, and nothing else.
// Experimental are the features of fields that only the experimental channel has.
func supportedFeatures(experimental bool) []gatewayv1.SupportedFeature {
	names := []features.FeatureName{
		features.SupportGateway, features.SupportReferenceGrant, features.SupportHTTPRoute, features.SupportGRPCRoute,
		features.SupportTLSRoute, features.SupportTCPRoute, features.SupportUDPRoute, features.SupportBackendTLSPolicy,

		features.SupportGatewayPort8080, features.SupportGatewayStaticAddresses,
		features.SupportGatewayHTTPListenerIsolation, features.SupportGatewayHTTPSListenerDetectMisdirectedRequests,
		features.SupportGatewayInfrastructure, features.SupportGatewayAddressEmpty,
		features.SupportGatewayBackendClientCertificate, features.SupportGatewayFrontendClientCertificateValidation,
		features.SupportGatewayFrontendClientCertificateValidationInsecureFallback, features.SupportListenerSet,

		features.SupportHTTPRouteBackendRequestHeaderModification, features.SupportHTTPRouteQueryParamMatching,
		features.SupportHTTPRouteMethodMatching, features.SupportHTTPRouteResponseHeaderModification,
		features.SupportHTTPRoutePortRedirect, features.SupportHTTPRouteSchemeRedirect,
		features.SupportHTTPRoutePathRedirect, features.SupportHTTPRouteHostRewrite,
		features.SupportHTTPRoutePathRewrite, features.SupportHTTPRouteRequestMirror,
		features.SupportHTTPRouteRequestMultipleMirrors, features.SupportHTTPRouteRequestPercentageMirror,
		features.SupportHTTPRouteRequestTimeout, features.SupportHTTPRouteBackendTimeout,
		features.SupportHTTPRouteParentRefPort, features.SupportHTTPRouteBackendProtocolH2C,
		features.SupportHTTPRouteBackendProtocolWebSocket, features.SupportHTTPRouteNamedRouteRule,
		features.SupportHTTPRouteCORS, features.SupportHTTPRoute303RedirectStatusCode,
		features.SupportHTTPRoute307RedirectStatusCode, features.SupportHTTPRoute308RedirectStatusCode,

		features.SupportGRPCRouteNamedRouteRule,
		features.SupportTLSRouteModeTerminate, features.SupportTLSRouteModeMixed,
		features.SupportBackendTLSPolicySANValidation,
	}
	if experimental {
		names = append(names, features.SupportHTTPRouteDestinationPortMatching, features.SupportHTTPRouteRetry,
			features.SupportHTTPRouteRetryBackendTimeout, features.SupportHTTPRouteRetryConnectionError)
		names = append(names, externalAuthFeatures()...)
	}
	slices.Sort(names)
	declared := make([]gatewayv1.SupportedFeature, len(names))
	for i, name := range names {
		declared[i].Name = gatewayv1.FeatureName(name)
	}
	return declared
}

// externalAuthFeatures returns the features that the documentation of HTTPExternalAuthFilter names, and that package
// features lacks.
func externalAuthFeatures() []features.FeatureName {
	return []features.FeatureName{
		"HTTPRouteExternalAuth", "HTTPRouteExternalAuthForwardBody", "HTTPRouteExternalAuthGRPC",
		"HTTPRouteExternalAuthHTTP",
	}
}
