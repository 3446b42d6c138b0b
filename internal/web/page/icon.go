package page

import (
	"fmt"
	"html/template"
)

// iconPaths are drawn on a field of 16 by 16 with a pen of 1.5.
func iconPaths() map[string]string {
	return map[string]string{
		"overview":      "M2.5 13.5v-4M6.2 13.5v-8M9.8 13.5v-6M13.5 13.5v-11",
		"runs":          "M4 2.8v10.4L13 8z",
		"costs":         "M8 2v12M11 4.8C10.5 3.9 9.5 3.4 8 3.4c-4 0-4 4.3 0 4.6s4 4.6 0 4.6c-1.5 0-2.5-.5-3-1.4",
		"deliveries":    "M2 9.5h3.5l1 2h3l1-2H14M2 9.5v4h12v-4L11.5 6M2 9.5 4.5 6M8 1.8v6M5.5 5.5 8 8l2.5-2.5",
		"schedules":     "M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
		"factories":     "M2 13.5v-7l4 2.5V6.5L10 9V3h3.5v10.5z",
		"agents":        "M3.5 6h9v6.5h-9zM8 6V3M6.2 9h.1M9.8 9h.1",
		"automations":   "M9 1.8 3.5 9H8l-1 5.2L12.5 7H8z",
		"webhooks":      "M5.5 10.5a2.5 2.5 0 1 1-2-4M6 4.5a2.5 2.5 0 1 1 4.2 2M10.5 11.5A2.5 2.5 0 1 0 10 7M6 4.7 4 8.6M10 7 8 4M5.5 10.5h4",
		"notifications": "M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8zM6.6 14.2h2.8M8 3V1.8",
		"environments":  "M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3",
		"secrets":       "M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
		"workers":       "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1",
		"keys":          "M10 6a3.5 3.5 0 1 0-3.4 3.5L8 8.2h1.5V6.7zM5 6h.1M9 8.5l4.5 4.5v1",
		"audit":         "M4 2h8v12H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h3",
		"sessions":      "M2 3h12v8H2zM5.5 13.5h5",
		"settings":      "M2 4.5h6M11.5 4.5H14M2 11.5h2.5M8 11.5h6M9.8 6.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM6.2 13.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4z",
		"search":        "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14",
		"menu":          "M2 4h12M2 8h12M2 12h12",
		"copy":          "M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3",
		"check":         "M3 8.5 6.5 12 13 4.5",
		"cross":         "M4 4l8 8M12 4l-8 8",
		"warning":       "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.1",
		"next":          "M6 3l5 5-5 5",
		"plus":          "M8 3v10M3 8h10",
		"filter":        "M2 4h12M4.5 8h7M7 12h2",
		"tool":          "M3 4l4 4-4 4M8.5 12H13",
		"thought":       "M3 7.5a5 4.5 0 1 1 4 4.4L4 14v-2.6a4.5 4.5 0 0 1-1-3.9z",
		"file":          "M4 2h5l3 3v9H4zM9 2v3h3",
		"down":          "M8 3v10M4 9l4 4 4-4",
		"stop":          "M4 4h8v8H4z",
		"again":         "M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5",
	}
}

// icon draws a small picture next to a word that says the same: readers who do not
// see it miss nothing.
func icon(name string) (template.HTML, error) {
	path, ok := iconPaths()[name]
	if !ok {
		return "", fmt.Errorf("no icon %q", name)
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="` + path + `"/></svg>`), nil // from the table above
}
