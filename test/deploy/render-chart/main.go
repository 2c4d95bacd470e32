// Renders a Helm chart with what Helm itself renders with: Go's templates, the functions of Sprig, and sigs.k8s.io/yaml.
// Reads {"chart", "release", "namespace", "values"} from standard input and prints {"<file>": "<text>"} as JSON. A template
// that fails ends the program with its message.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type request struct {
	Chart     string                 `json:"chart"`
	Release   string                 `json:"release"`
	Namespace string                 `json:"namespace"`
	Values    map[string]interface{} `json:"values"`
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	rendered, err := render(asked)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(rendered); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func render(asked request) (map[string]string, error) {
	chart, err := readYaml(filepath.Join(asked.Chart, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	values, err := readYaml(filepath.Join(asked.Chart, "values.yaml"))
	if err != nil {
		return nil, err
	}
	merge(values, asked.Values)

	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	files, err := filepath.Glob(filepath.Join(asked.Chart, "templates", "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if _, err := all.New(filepath.Base(file)).Parse(string(text)); err != nil {
			return nil, err
		}
	}

	rendered := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		scope := map[string]interface{}{
			"Values":   values,
			"Chart":    capitalized(chart),
			"Release":  map[string]interface{}{"Name": asked.Release, "Namespace": asked.Namespace, "Service": "Helm", "IsInstall": true, "IsUpgrade": false, "Revision": 1},
			"Template": map[string]interface{}{"Name": path.Join("templates", name)},
		}
		if err := all.ExecuteTemplate(&text, name, scope); err != nil {
			return nil, err
		}
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return rendered, nil
}

// functions returns Sprig's functions without those that Helm removes, and those that Helm adds.
func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	known["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	known["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, errors.New(message)
		}
		return value, nil
	}
	return known
}

// merge lays the given values over the defaults. As in Helm, null removes a default.
func merge(defaults, given map[string]interface{}) {
	for name, value := range given {
		inner, isMap := value.(map[string]interface{})
		under, wasMap := defaults[name].(map[string]interface{})
		switch {
		case value == nil:
			delete(defaults, name)
		case isMap && wasMap:
			merge(under, inner)
		default:
			defaults[name] = value
		}
	}
}

func readYaml(file string) (map[string]interface{}, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content := map[string]interface{}{}
	return content, yaml.UnmarshalStrict(text, &content)
}

// capitalized returns the members of Chart.yaml as templates name them: appVersion is AppVersion.
func capitalized(chart map[string]interface{}) map[string]interface{} {
	named := map[string]interface{}{}
	for name, value := range chart {
		named[strings.ToUpper(name[:1])+name[1:]] = value
	}
	return named
}
