# The image is the binary and nothing else: `make image ARCH=arm64` builds dist/sluice-linux-arm64 first, then this.
# Certificate roots are in the binary; user, shell and package manager are not here to be attacked.
FROM scratch
ARG TARGETARCH
COPY dist/sluice-linux-${TARGETARCH} /sluice
USER 65532:65532
EXPOSE 80 443 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["/sluice", "healthcheck"]
ENTRYPOINT ["/sluice"]
