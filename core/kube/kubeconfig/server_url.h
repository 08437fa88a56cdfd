#include "core/kube/kubeconfig/kubeconfig.h" // moved
