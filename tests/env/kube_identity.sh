# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Who is who in a private Kubernetes: one certificate authority for servers and clients, and
# kubeconfig files for users, groups and service accounts.
#
# People and components have client certificates, so that one can be made at any time without
# touching the API server. Service accounts have tokens in files of their own, as pods do.

# kube_authority DIR: the CA, and the key that signs the tokens of service accounts.
kube_authority() {
  mkdir -p "$1/pki"
  chmod 0700 "$1/pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7 \
    -subj '/CN=tests of imprint' -keyout "$1/pki/ca.key" -out "$1/pki/ca.crt"
  openssl ecparam -name prime256v1 -genkey -noout -out "$1/pki/service-accounts.key"
}

# kube_certificate DIR NAME SUBJECT EXTENSION: DIR/pki/NAME.crt and .key.
kube_certificate() {
  local pki=$1/pki name=$2
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" \
    -keyout "$pki/$name.key" -out "$pki/$name.csr"
  # a serial number of its own, or two at a time would write the CA's counter
  openssl x509 -req -in "$pki/$name.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" \
    -set_serial "0x$(openssl rand -hex 8)" -days 7 -extfile <(echo "$4") -out "$pki/$name.crt"
}

# kube_config_file DIR FILE NAMESPACE USER_FIELDS: of the server in DIR/address.
kube_config_file() {
  (
    umask 077
    cat >"$2" <<CONFIG
apiVersion: v1
kind: Config
clusters:
- name: tests
  cluster: {server: "https://$(<"$1/address")", certificate-authority: "$1/pki/ca.crt"}
users:
- name: user
  user: {$4}
contexts:
- name: tests
  context: {cluster: tests, user: user, namespace: "$3"}
current-context: tests
CONFIG
  )
}

# kube_user DIR FILE USER [GROUP]: a kubeconfig for that user.
kube_user() {
  local dir=$1 file=$2 user=$3 group=${4:-} name=client-${3//[^A-Za-z0-9.-]/-}
  kube_certificate "$dir" "$name" "${group:+/O=$group}/CN=$user" 'extendedKeyUsage = clientAuth'
  kube_config_file "$dir" "$file" default \
    "client-certificate: \"$dir/pki/$name.crt\", client-key: \"$dir/pki/$name.key\""
}

# kube_service_account DIR FILE NAMESPACE NAME [SECONDS]: a kubeconfig for that service account,
# which must exist; its token, in FILE.token, is good for an hour.
kube_service_account() {
  local dir=$1 file=$2 namespace=$3 name=$4
  (
    umask 077
    kube_ctl "$dir" -n "$namespace" create token "$name" --duration "${5:-3600}s" >"$file.token"
  )
  kube_config_file "$dir" "$file" "$namespace" "tokenFile: \"$file.token\""
}
