{{- define "lineshaft.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- define "lineshaft.labels" -}}
app.kubernetes.io/name: lineshaft
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
{{- define "lineshaft.selector" -}}
app.kubernetes.io/name: lineshaft
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end -}}
{{- define "lineshaft.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- define "lineshaft.podSecurity" -}}
runAsNonRoot: true
runAsUser: 64320
runAsGroup: 64320
fsGroup: 64320
seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- define "lineshaft.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: ["ALL"]}
{{- end -}}
