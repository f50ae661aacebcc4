package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func reports(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const index = `{"gateway": {"6.4.1": {"behavior": "OK", "behaviorClose": "OK", "duration": 3, "remoteCloseCode": 1007,
	"reportfile": "gateway_case_6_4_1.json"}}}`

func TestReportsAreReadAsTheSuiteWritesThem(t *testing.T) {
	dir := reports(t, map[string]string{
		"index.json": index,
		"gateway_case_6_4_1.json": `{"id": "6.4.1", "behavior": "NON-STRICT", "behaviorClose": "OK", "description":
			"Send <b>invalid UTF-8</b>\n in three fragments.<br><br>MESSAGE PARTS:<br>\nPART1 = ce", "result": "Actual events match",
			"resultClose": "Connection was properly closed", "expected": {"OK": [["timeout", "A"]]}, "wirelog": []}`,
	})
	ran, err := readReports(dir, "gateway")
	want := outcome{nonStrict, ok, "Send invalid UTF-8 in three fragments.", "Actual events match", "Connection was properly closed"}
	if err != nil || len(ran) != 1 || ran["6.4.1"] != want {
		t.Fatalf("%+v, %v", ran, err)
	}
}

func TestReportsThatAreNotWholeAreRefused(t *testing.T) {
	const whole = `{"behavior": "OK", "behaviorClose": "OK"}`
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":          {nil, "made no report"},
		"cut off":          {map[string]string{"index.json": index[:40]}, "index.json"},
		"a case is not":    {map[string]string{"index.json": index}, "case 6.4.1"},
		"a case cut off":   {map[string]string{"index.json": index, "gateway_case_6_4_1.json": whole[:9]}, "gateway_case_6_4_1.json"},
		"another agent":    {map[string]string{"index.json": strings.Replace(index, "gateway", "other", 1)}, "alone"},
		"a second agent":   {map[string]string{"index.json": strings.Replace(index, "{", `{"other": {}, `, 1)}, "alone"},
		"nobody was heard": {map[string]string{"index.json": "{}"}, "alone"},
	} {
		if _, err := readReports(reports(t, c.files), "gateway"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}
