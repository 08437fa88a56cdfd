{{- define "wharf.labels" -}}
app.kubernetes.io/name: wharf
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "wharf.elected" -}}
{{- with .Values.config.leaderElection }}{{ if .enabled }}true{{ end }}{{ end -}}
{{- end }}
