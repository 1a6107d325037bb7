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
	Level      string `json:"level" description:"Least important level that is written: TRACE, DEBUG, INFO, WARN, ERROR, FATAL or PANIC." enum:"TRACE,DEBUG,INFO,WARN,ERROR,FATAL,PANIC"`
	Format     string `json:"format" description:"Form of an entry: common or json." enum:"common,json"`
	FilePath   string `json:"filePath" description:"File to write to; standard error when empty."`
	NoColor    bool   `json:"noColor" description:"Write the common format without colors."`
	MaxSize    int    `json:"maxSize" description:"Size at which the file is rotated, in megabytes." support:"warn"`
	MaxAge     int    `json:"maxAge" description:"Days for which rotated files are kept." support:"warn"`
	MaxBackups int    `json:"maxBackups" description:"Number of rotated files that are kept." support:"warn"`
	Compress   bool   `json:"compress" description:"Compress rotated files." support:"warn"`
	OTLP       *OTLP  `json:"otlp" description:"Send the log by OTLP." support:"warn"`
}

// SetDefaults writes entries from INFO upwards in the common format; Traefik starts at ERROR.
func (l *Log) SetDefaults() {
	l.Level = "INFO"
	l.Format = FormatCommon
}

// AccessLog is the log of requests.
type AccessLog struct {
	FilePath      string            `json:"filePath"`
	Format        string            `json:"format"`
	Filters       *AccessLogFilters `json:"filters"`
	Fields        *AccessLogFields  `json:"fields"`
	BufferingSize int64             `json:"bufferingSize"`
	AddInternals  bool              `json:"addInternals"`
	DualOutput    bool              `json:"dualOutput"`
	OTLP          *OTLP             `json:"otlp"`
}

// SetDefaults writes the common format.
func (a *AccessLog) SetDefaults() {
	a.Format = FormatCommon
}

// AccessLogFilters says which requests are logged.
type AccessLogFilters struct {
	StatusCodes   []string `json:"statusCodes"`
	RetryAttempts bool     `json:"retryAttempts"`
	MinDuration   Duration `json:"minDuration"`
}

// AccessLogFields says which fields of a request are logged.
type AccessLogFields struct {
	DefaultMode     string            `json:"defaultMode"`
	Names           map[string]string `json:"names"`
	Headers         *FieldHeaders     `json:"headers"`
	QueryParameters *FieldQuery       `json:"queryParameters"`
}

// SetDefaults keeps every field.
func (f *AccessLogFields) SetDefaults() {
	f.DefaultMode = "keep"
}

// FieldHeaders says which headers are logged.
type FieldHeaders struct {
	DefaultMode string            `json:"defaultMode"`
	Names       map[string]string `json:"names"`
}

// SetDefaults drops every header.
func (f *FieldHeaders) SetDefaults() {
	f.DefaultMode = "drop"
}

// FieldQuery says whether query parameters are logged.
type FieldQuery struct {
	DefaultMode string `json:"defaultMode"`
}

// SetDefaults keeps query parameters.
func (f *FieldQuery) SetDefaults() {
	f.DefaultMode = "keep"
}
