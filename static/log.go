package static

// The values of Log.Format.
const (
	// FormatCommon writes one readable line for each entry.
	FormatCommon = "common"
	// FormatJSON writes one JSON object for each entry.
	FormatJSON = "json"
)

// Log is the log of Sluice itself.
type Log struct {
	Level      string            `json:"level" description:"Least important level that is written: TRACE, DEBUG, INFO, WARN, ERROR, FATAL or PANIC." enum:"TRACE,DEBUG,INFO,WARN,ERROR,FATAL,PANIC"`
	Format     string            `json:"format" description:"Form of an entry: common or json." enum:"common,json"`
	FilePath   string            `json:"filePath" description:"File to write to; standard error when empty."`
	NoColor    bool              `json:"noColor" description:"Write the common format without colors."`
	MaxSize    int               `json:"maxSize" description:"Size at which the file is rotated, in megabytes."`
	MaxAge     int               `json:"maxAge" description:"Days for which rotated files are kept."`
	MaxBackups int               `json:"maxBackups" description:"Number of rotated files that are kept."`
	Compress   bool              `json:"compress" description:"Compress rotated files."`
	OTLP       *OTLP             `json:"otlp" description:"Send the log by OTLP too."`
	Levels     map[string]string `json:"levels" description:"Levels of single subsystems, such as pipeline, provider.docker or requests; a name stands for all below it."`
}

// SetDefaults writes entries from INFO upwards in the common format; Traefik starts at ERROR.
func (l *Log) SetDefaults() {
	l.Level = "INFO"
	l.Format = FormatCommon
}

// AccessLog is the log of requests.
type AccessLog struct {
	FilePath         string            `json:"filePath" description:"File to write to; standard output when empty."`
	Format           string            `json:"format" description:"Form of a line: common, genericCLF or json." enum:"common,genericCLF,json"`
	Filters          *AccessLogFilters `json:"filters" description:"Which requests are logged; a request that one of the filters keeps is."`
	Fields           *AccessLogFields  `json:"fields" description:"Which fields of a request are logged."`
	BufferingSize    int64             `json:"bufferingSize" description:"Number of lines that wait for a slow file before lines are dropped and counted; 0 is 65,536."`
	ForwardRequestID bool              `json:"forwardRequestID" description:"Send the request id of the log to endpoints, as X-Request-Id."`
	AddInternals     bool              `json:"addInternals" description:"Log the requests to Sluice's own services too."`
	DualOutput       bool              `json:"dualOutput" description:"Write lines although they are sent by OTLP."`
	OTLP             *OTLP             `json:"otlp" description:"Send the log by OTLP."`
}

// SetDefaults writes the common format.
func (a *AccessLog) SetDefaults() {
	a.Format = FormatCommon
}

// AccessLogFilters says which requests are logged.
type AccessLogFilters struct {
	StatusCodes   []string `json:"statusCodes" description:"Status codes and ranges that are logged."`
	RetryAttempts bool     `json:"retryAttempts" description:"Log requests that were tried more than once."`
	MinDuration   Duration `json:"minDuration" description:"Log requests that took at least that long."`
}

// AccessLogFields says which fields of a request are logged.
type AccessLogFields struct {
	DefaultMode     string            `json:"defaultMode" description:"What becomes of a field: keep or drop." enum:"keep,drop"`
	Names           map[string]string `json:"names" description:"The same for single fields, by name."`
	Headers         *FieldHeaders     `json:"headers" description:"Which headers are logged."`
	QueryParameters *FieldQuery       `json:"queryParameters" description:"Whether query parameters are logged."`
}

// SetDefaults keeps every field.
func (f *AccessLogFields) SetDefaults() {
	f.DefaultMode = "keep"
}

// FieldHeaders says which headers are logged.
type FieldHeaders struct {
	DefaultMode string            `json:"defaultMode" description:"What becomes of a header: keep, drop or redact." enum:"keep,drop,redact"`
	Names       map[string]string `json:"names" description:"The same for single headers, by name."`
}

// SetDefaults drops every header.
func (f *FieldHeaders) SetDefaults() {
	f.DefaultMode = "drop"
}

// FieldQuery says whether query parameters are logged.
type FieldQuery struct {
	DefaultMode string `json:"defaultMode" description:"What becomes of query parameters: keep, drop or redact." enum:"keep,drop,redact"`
}

// SetDefaults keeps query parameters.
func (f *FieldQuery) SetDefaults() {
	f.DefaultMode = "keep"
}
