# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kq_global_optspecs
    string join \n h/help V/version
end

function __fish_kq_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kq_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kq_using_subcommand
    set -l cmd (__fish_kq_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kq -n "__fish_kq_needs_command" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_needs_command" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_needs_command" -f -a "cgroup" -d 'Plan, explain and check cgroup values'
complete -c kq -n "__fish_kq_needs_command" -f -a "gc" -d 'Predict, explain and run image garbage collection'
complete -c kq -n "__fish_kq_needs_command" -f -a "evict" -d 'Show the order in which the kubelet would evict pods'
complete -c kq -n "__fish_kq_needs_command" -f -a "devices" -d 'Inspect device allocations and predict what the device manager will do'
complete -c kq -n "__fish_kq_needs_command" -f -a "probe" -d 'Run container probes as the kubelet does, and explain the consequences'
complete -c kq -n "__fish_kq_needs_command" -f -a "admit" -d 'Check whether the kubelet would admit a pod'
complete -c kq -n "__fish_kq_needs_command" -f -a "allocatable" -d 'Show what a node has for pods: its capacity less the reservations'
complete -c kq -n "__fish_kq_needs_command" -f -a "preempt" -d 'Show which pods the kubelet would preempt for a critical pod, or evict them'
complete -c kq -n "__fish_kq_needs_command" -f -a "what-if" -d 'Show what a change would do to the node, before it is made'
complete -c kq -n "__fish_kq_needs_command" -f -a "doctor" -d 'Check the whole node, or show one pod on one page'
complete -c kq -n "__fish_kq_needs_command" -f -a "why" -d 'Show what ended, refused, killed, throttled or delayed a pod'
complete -c kq -n "__fish_kq_needs_command" -f -a "explain" -d 'Explain a message of the kubelet: which rule spoke, and what its numbers are'
complete -c kq -n "__fish_kq_needs_command" -f -a "report" -d 'Write one page about a node, with pictures of the answers'
complete -c kq -n "__fish_kq_needs_command" -f -a "top" -d 'Watch the pods of this node in the terminal'
complete -c kq -n "__fish_kq_needs_command" -f -a "fleet" -d 'Ask many nodes the same question, and merge the answers'
complete -c kq -n "__fish_kq_needs_command" -f -a "snapshot" -d 'Store all data that kq can read about this node'
complete -c kq -n "__fish_kq_needs_command" -f -a "schema" -d 'Print the JSON Schema of a kind of answer'
complete -c kq -n "__fish_kq_needs_command" -f -a "version" -d 'Show the versions of kq, the kubelet and the runtime, and the rules in use'
complete -c kq -n "__fish_kq_needs_command" -f -a "completion" -d 'Print the completion script of a shell'
complete -c kq -n "__fish_kq_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "shares" -d 'Show the CPU time of each container when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "explain" -d 'Explain the meaning and the possible origin of a value in a cgroup file'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "show" -d 'Show the cgroups of this node with the names of pods and containers'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "throttling" -d 'Rank the containers of this node by CPU throttling'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "diff" -d 'Compare the plan with the kernel\'s cgroup values'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "apply" -d 'Write the planned values where the kernel differs'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "rollback" -d 'Restore the values that kq cgroup apply changed'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "which" -d 'Find the pod and container of a process, a cgroup or a container ID'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show throttling diff apply rollback which help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l on-node -d 'Only the pods bound to this node, or to no node yet (default: the name in --node-file)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The paths of the cgroups'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l static -d 'Treat the pods of the files as static pods, from the kubelet\'s static pod directory instead of the API server'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l on-node -d 'Only the pods bound to this node, or to no node yet (default: the name in --node-file)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The paths of the cgroups'
metrics\t'Numbers as OpenMetrics, for Prometheus'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cpus -d 'The number of CPUs to divide (default: the CPUs in --capacity or --node-file)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l sibling -d 'A busy sibling of kubepods and its weight (shares on cgroup v1), such as system.slice=100 (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l static -d 'Treat the pods of the files as static pods, from the kubelet\'s static pod directory instead of the API server'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l planned -d 'Divide by planned weights and quotas, not by the kernel\'s'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The paths of the cgroups'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s w -l watch -d 'Refresh until interrupted'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The paths of the cgroups'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from throttling" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The paths of the cgroups that drift'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l plan-digest -d 'Apply only the plan with this digest: planDigest of --dry-run -o json. kq refuses another plan' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l rollback-file -d 'Where to store the rollback file (default: kq-rollback-TIME.json in the current directory)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The paths of the cgroups'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan without applying it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l allow-oom -d 'Set limits even below the current usage; the kernel may then kill processes'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l dry-run -d 'Show the plan without applying it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s y -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l allow-oom -d 'Set limits even below the current usage; the kernel may then kill processes'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l pid -d 'A process ID' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l path -d 'A cgroup: its path below the root of the hierarchy, or the path of its directory or of a file in that directory' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l container -d 'A container ID, or the start of one' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The path of the cgroup'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "shares" -d 'Show the CPU time of each container when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Explain the meaning and the possible origin of a value in a cgroup file'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the cgroups of this node with the names of pods and containers'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "throttling" -d 'Rank the containers of this node by CPU throttling'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Compare the plan with the kernel\'s cgroup values'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Write the planned values where the kernel differs'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "rollback" -d 'Restore the values that kq cgroup apply changed'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "which" -d 'Find the pod and container of a process, a cgroup or a container ID'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "dry-run" -d 'Show the images that would be removed now, in order, with reasons'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "explain" -d 'Explain the state and fate of one image, or the disk that holds the images'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "apply" -d 'Remove the images that dry-run lists'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "images" -d 'List the images with size, age, last use, pinned state and users'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "lint" -d 'Find invalid, unwise or surprising garbage collection settings'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "policy" -d 'Show the policy in force, the origin of each value, and the kubelet\'s errors'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "record" -d 'Record image times as the kubelet does in its memory'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "watch" -d 'Run the kubelet\'s garbage-collection loop and report each pass'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The IDs of the images to remove'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l trigger -d 'The trigger of the collection' -r -f -a "periodic\t'The kubelet\'s loop: images over the maximum age, then images down to the low threshold'
age\t'The part of the loop that removes images over the maximum age'
eviction\t'Disk pressure: the resources the kubelet would reclaim under the actual or assumed pressure'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l at-usage -d 'Assume this usage of the image file system, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l image-fs-capacity -d 'The size of the image file system (default: that of the node)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s w -l watch -d 'Refresh until interrupted'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l at-usage -d 'Assume this usage of the image file system, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l image-fs-capacity -d 'The size of the image file system (default: that of the node)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l disk -d 'Explain the disk that holds the images'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l plan-digest -d 'Apply only the plan with this digest: planDigest of --dry-run -o json. kq refuses another plan' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l max -d 'Remove at most this number of images' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l keep -d 'Keep images whose tag, digest or ID matches (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The IDs of the images to remove'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l trigger -d 'The trigger of the collection' -r -f -a "periodic\t'The kubelet\'s loop: images over the maximum age, then images down to the low threshold'
age\t'The part of the loop that removes images over the maximum age'
eviction\t'Disk pressure: the resources the kubelet would reclaim under the actual or assumed pressure'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l at-usage -d 'Assume this usage of the image file system, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l image-fs-capacity -d 'The size of the image file system (default: that of the node)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan without applying it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l allow-unsure -d 'Also remove images that may be younger than imageMinimumGCAge, or unused for less than imageMaximumGCAge. Only the kubelet knows these times'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The IDs of the images'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s q -l quiet -d 'Print the IDs only, as -o name does'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s w -l watch -d 'Refresh until interrupted'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The subjects of the problems, such as pod/NAMESPACE/NAME or node'
sarif\t'Findings as SARIF, for code scanners'
junit\t'Findings as JUnit XML, for CI servers'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
metrics\t'Numbers as OpenMetrics, for Prometheus'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l once -d 'Read once, then exit'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l interval -d 'Time between the end of a pass and the next pass' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l passes -d 'Exit after this number of passes' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l max -d 'Remove at most this number of images' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l keep -d 'Keep images whose tag, digest or ID matches (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The IDs of the images to remove'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l trigger -d 'The trigger of the collection' -r -f -a "periodic\t'The kubelet\'s loop: images over the maximum age, then images down to the low threshold'
age\t'The part of the loop that removes images over the maximum age'
eviction\t'Disk pressure: the resources the kubelet would reclaim under the actual or assumed pressure'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l at-usage -d 'Assume this usage of the image file system, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l image-fs-capacity -d 'The size of the image file system (default: that of the node)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l records -d 'The file of kq gc record (default: /var/lib/kq/image-records.json on the node)' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l allow-unsure -d 'Also remove images that may be younger than imageMinimumGCAge, or unused for less than imageMaximumGCAge. Only the kubelet knows these times'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s y -l yes -d 'Remove the images that each pass reports, without asking for confirmation'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "dry-run" -d 'Show the images that would be removed now, in order, with reasons'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Explain the state and fate of one image, or the disk that holds the images'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Remove the images that dry-run lists'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "images" -d 'List the images with size, age, last use, pinned state and users'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Find invalid, unwise or surprising garbage collection settings'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "policy" -d 'Show the policy in force, the origin of each value, and the kubelet\'s errors'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record image times as the kubelet does in its memory'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "watch" -d 'Run the kubelet\'s garbage-collection loop and report each pass'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -f -a "rank" -d 'Show the order in which this node\'s kubelet would evict pods, and why'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l signal -d 'The eviction signal; by default the one nearest to its threshold' -r -f -a "memory\t''
disk\t''
inodes\t''
imagefs\t''
containerfs\t''
pid\t''
allocatableMemory.available\t''
containerfs.available\t''
containerfs.inodesFree\t''
imagefs.available\t''
imagefs.inodesFree\t''
memory.available\t''
nodefs.available\t''
nodefs.inodesFree\t''
pid.available\t''"
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The pods, as pod/NAME'
metrics\t'Numbers as OpenMetrics, for Prometheus'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l stats -d 'The kubelet\'s stats summary (kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary). By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s w -l watch -d 'Refresh until interrupted'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from help" -f -a "rank" -d 'Show the order in which this node\'s kubelet would evict pods, and why'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "list" -d 'Show the devices of each container, and their state'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "verify" -d 'Check the kubelet\'s state files for devices, CPUs, memory and pods'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "plan" -d 'Show the devices that a pod would get now, or the kubelet\'s error'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "capacity" -d 'Show the node\'s device capacity as the kubelet counts it'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "plugins" -d 'Show the device plugins, and whether the kubelet is connected to them'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "serve" -d 'Run a fake kubelet for developing a device plugin'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "allocate" -d 'Allocate devices to a pod through the fake kubelet'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "repair" -d 'Repair the device checkpoint of a stopped kubelet'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l source -d 'Use only one source' -r -f -a "checkpoint\t'The kubelet\'s checkpoint'
podresources\t'The kubelet\'s pod-resources API'
both\t'Both sources, compared'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The IDs of the devices'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l free -d 'Show only the healthy devices that no active pod holds'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s w -l watch -d 'Refresh until interrupted'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s f -l filename -d 'A state file, as kubectl names files (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kind -d 'The kind of the named files, whatever their names: a keyword or the kubelet\'s file name' -r -f -a "devices\t''
cpu-manager\t''
memory-manager\t''
allocated-pods\t''
actuated-pods\t''
dra\t''
pod-status\t''
kubelet_internal_checkpoint\t''
cpu_manager_state\t''
memory_manager_state\t''
allocated_pods_state\t''
actuated_pods_state\t''
dra_manager_state\t''
pod_status_manager_state\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l checkpoint -d 'A device manager checkpoint: a FILE, whatever its name' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l unhealthy -d 'Treat this device (ID or RESOURCE=ID) as unhealthy. Without POD or FILE, show which pods hold it and the resulting capacity (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l ask-plugin -d 'Ask plugins for their preferred devices (GetPreferredAllocation). Without SOCKET, kq asks the plugins of the requested resources in the device plugin directory. A named SOCKET must be that of the resource (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l dir -d 'The device plugin directory for --ask-plugin (default: the directory of the running kubelet, else /var/lib/kubelet/device-plugins)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete for each resource that it names' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l numa-nodes -d 'The NUMA nodes of the machine, such as 0,1 or 0-1 (default: those listed by the kernel)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l topology-manager-policy -d 'topologyManagerPolicy: none, best-effort, restricted or single-numa-node (default: the kubelet\'s)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l topology-manager-scope -d 'topologyManagerScope: container or pod (default: the kubelet\'s)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-restart -d 'Assume that the kubelet restarts and that no plugin has registered yet'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l reboot -d 'Assume that the machine reboots: as --kubelet-restart, and no container runs'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete for each resource that it names' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The names of the resources'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l dir -d 'The device plugin directory (default: the directory of the running kubelet, else /var/lib/kubelet/device-plugins)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l wait -d 'Wait until this resource can be allocated' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l timeout -d 'Time limit for --wait' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l call-timeout -d 'Time limit for each plugin\'s answer' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l no-ask -d 'Do not call plugins; use only the file system and the kernel\'s socket table'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l dir -d 'The directory of kubelet.sock and of the plugins\' sockets; created if it does not exist' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l call-timeout -d 'Time limit for a call to a plugin. The kubelet has none, except for PreStartContainer' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l grace-period -d 'How long a resource is kept after its plugin ends. The kubelet keeps it for five minutes' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l host-root -d 'The root of the file system of the node whose kubelet must not be disturbed (default: /host in a debugging container, else /)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -s o -l output -d 'Format of the event lines' -r -f -a "text\t'One text line for each event'
json\t'One JSON object per line for each event'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s f -l filename -d 'The manifest, as kubectl names files' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l dir -d 'The directory of the running kq devices serve' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l remove -d 'End a pod: NAME, NAMESPACE/NAME or UID' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l topology-manager-policy -d 'topologyManagerPolicy: none, best-effort, restricted or single-numa-node' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l topology-manager-scope -d 'topologyManagerScope: container or pod' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l numa-nodes -d 'The NUMA nodes of the machine, such as 0,1 (default: the NUMA nodes of the devices)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l no-start -d 'Stop before the containers would start: do not call PreStartContainer'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l remove -d 'Remove the entries of a pod, of one of its containers, or of one resource of a container: UID[/CONTAINER[/RESOURCE]] or NAMESPACE/NAME[/CONTAINER[/RESOURCE]], or just NAME if only one pod has that name (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l backup -d 'Where to keep the old file (default: next to the device plugin directory, with the time in its name)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l checkpoint -d 'The checkpoint to repair (default: the node\'s kubelet_internal_checkpoint)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l remove-stale -d 'Remove the entries of pods that are gone or have ended'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l rebuild -d 'Write a valid file from a damaged one'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l force -d 'Also remove named entries that are in use or may be; with --rebuild, also write when entries are lost or may be wrong'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l dry-run -d 'Show the plan without applying it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s y -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show the devices of each container, and their state'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Check the kubelet\'s state files for devices, CPUs, memory and pods'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show the devices that a pod would get now, or the kubelet\'s error'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "capacity" -d 'Show the node\'s device capacity as the kubelet counts it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "plugins" -d 'Show the device plugins, and whether the kubelet is connected to them'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "serve" -d 'Run a fake kubelet for developing a device plugin'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "allocate" -d 'Allocate devices to a pod through the fake kubelet'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "repair" -d 'Repair the device checkpoint of a stopped kubelet'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "run" -d 'Probe a container now, as the kubelet does, and explain the result'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "plan" -d 'Show the requests that the kubelet will send, and when they have consequences'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "simulate" -d 'Replay a sequence of probe results through the kubelet\'s worker'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "lint" -d 'Find invalid, unwise or surprising settings in the probes of pods'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s c -l container -d 'The container; with --exec and without a pod, its ID, or its name if that is unique' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l type -d 'The type of the probe; for a target given by flags, the type to assume' -r -f -a "startup\t'The startup probe'
readiness\t'The readiness probe'
liveness\t'The liveness probe'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l http -d 'Send an HTTP GET request to this URL' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s H -l header -d 'A header for --http, such as \'Host: shop.example.org\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l tcp -d 'Open a TCP connection to this address' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l grpc -d 'Call the gRPC health service at this address' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l service -d 'The service name for --grpc (default: the server as a whole)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l count -d 'Probe this number of times, then print a summary' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l interval -d 'Time between two probes: "probe" for each probe\'s own periodSeconds, or a duration such as 500ms' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l timeout-seconds -d 'Override timeoutSeconds, the time limit of one attempt (--timeout is for data sources)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l period-seconds -d 'Override periodSeconds, the time between two probes' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l initial-delay-seconds -d 'Override initialDelaySeconds, the time without probes after the container\'s start' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l failure-threshold -d 'Override failureThreshold, the number of failures in a row that count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l success-threshold -d 'Override successThreshold, the number of successes in a row that count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l pod-ip -d 'The IP of the named pod (default: the IP reported by the kubelet, else by the runtime)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l all -d 'Run every probe of every pod of the node, concurrently'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l exec -d 'Run the command after -- in the container'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l compare -d 'Also probe in the ways commonly tried by hand: with curl, from inside the pod\'s network, to 127.0.0.1, and with a longer timeout; then explain the differences'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l until-action -d 'Probe until the kubelet would act: kill the container, or mark it as ready, not ready or started'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s w -l watch -d 'Probe until interrupted'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s c -l container -d 'Only this container' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l type -d 'Only this probe' -r -f -a "startup\t'The startup probe'
readiness\t'The readiness probe'
liveness\t'The liveness probe'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l timeout-seconds -d 'Override timeoutSeconds, the time limit of one attempt (--timeout is for data sources)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l period-seconds -d 'Override periodSeconds, the time between two probes' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l initial-delay-seconds -d 'Override initialDelaySeconds, the time without probes after the container\'s start' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l failure-threshold -d 'Override failureThreshold, the number of failures in a row that count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l success-threshold -d 'Override successThreshold, the number of successes in a row that count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l pod-ip -d 'The IP of the named pod (default: the IP reported by the kubelet, else by the runtime)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s f -l filename -d 'The trace, as kubectl names files' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l initial-delay-seconds -d 'Override initialDelaySeconds' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l period-seconds -d 'Override periodSeconds, for the steps without an explicit time' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l success-threshold -d 'Override successThreshold' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l failure-threshold -d 'Override failureThreshold' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l feature-gates -d 'Feature gates in addition to those of the trace, such as ContainerRestartRules=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The subjects of the problems, such as pod/NAMESPACE/NAME or node'
sarif\t'Findings as SARIF, for code scanners'
junit\t'Findings as JUnit XML, for CI servers'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l pod-ip -d 'The IP of the named pod (default: the IP reported by the kubelet, else by the runtime)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "run" -d 'Probe a container now, as the kubelet does, and explain the result'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show the requests that the kubelet will send, and when they have consequences'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "simulate" -d 'Replay a sequence of probe results through the kubelet\'s worker'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Find invalid, unwise or surprising settings in the probes of pods'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -f -a "explain" -d 'Show whether this node\'s kubelet would admit a pod now, and why not'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l priority -d 'The pod\'s priority: a number, system-cluster-critical or system-node-critical (default: the priority in its spec)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l without -d 'Leave this pod of the node out of the computation: NAMESPACE/NAME (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete for each resource that it names' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-restart -d 'Show which pods of the node a restarted kubelet would admit again'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l static -d 'Treat the pod of the file as a static pod, as if it were in the kubelet\'s static pod directory'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Show whether this node\'s kubelet would admit a pod now, and why not'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand allocatable" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand allocatable" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand allocatable" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand allocatable" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand allocatable" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand allocatable" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -f -a "explain" -d 'Show which pods this node\'s kubelet would preempt to admit a pod, and why'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -f -a "apply" -d 'Evict the victims that explain shows, until the pod fits'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -f -a "why" -d 'Show which component killed a pod, and for which other pod'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -f -a "lint" -d 'Find pods that their priority does not protect from the kubelet'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why lint help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l priority -d 'The pod\'s priority: a number, system-cluster-critical or system-node-critical (default: the priority in its spec)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l without -d 'Leave this pod of the node out of the computation: NAMESPACE/NAME (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete for each resource that it names' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l order -d 'The kubelet\'s order of the pods: NAMESPACE/NAME; other pods come after them (default: the order of their names)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l static -d 'Treat the pod of the file as a static pod, as if it were in the kubelet\'s static pod directory'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l all-nodes -d 'Compute the cost on every node of the cluster, and show the cheapest first'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l budget-timeout -d 'Time to wait for the disruption budgets of each victim; 0s does not wait' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l victim-timeout -d 'Time to wait for each victim to end (default: as the kubelet, 1.5 times the grace period and at least 10s)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l order -d 'The kubelet\'s order of the pods: NAMESPACE/NAME; other pods come after them (default: the order of their names)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s f -l filename -d 'A manifest file, whatever its name; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l priority -d 'The pod\'s priority: a number, system-cluster-critical or system-node-critical (default: the priority in its spec)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l without -d 'Leave this pod of the node out of the computation: NAMESPACE/NAME (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete for each resource that it names' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan and the API server\'s answer to it, without applying it'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l like-kubelet -d 'Delete the victims without checking disruption budgets, as the kubelet does'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l static -d 'Treat the pod of the file as a static pod, as if it were in the kubelet\'s static pod directory'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l events -d 'Events: kubectl get events -A -o json; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-log -d 'The kubelet\'s log: journalctl -u kubelet -o cat, or in another journalctl format (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l node-file -d 'The Node object of the pod\'s node (kubectl get node NAME -o json): it names the node' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s f -l filename -d 'The same, as kubectl has it' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s l -l selector -d 'Only pods with these labels, such as app=web,tier!=db or \'app in (web,api)\'; also notin, KEY and !KEY' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The subjects of the problems, such as pod/NAMESPACE/NAME or node'
sarif\t'Findings as SARIF, for code scanners'
junit\t'Findings as JUnit XML, for CI servers'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-start -d 'The kubelet\'s start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the start of its process)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l node-file -d 'The Node object (kubectl get node NAME -o json). It selects the node\'s pods and supplies the kubelet\'s version and the node\'s resources. By default it is read from the API server' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from lint" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Show which pods this node\'s kubelet would preempt to admit a pod, and why'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Evict the victims that explain shows, until the pod fits'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "why" -d 'Show which component killed a pod, and for which other pod'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Find pods that their priority does not protect from the kubelet'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand what-if" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
script\t'What to do before the change, as a script for a shell'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand what-if" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand what-if" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand what-if" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand what-if" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand what-if" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand what-if" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand what-if" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand what-if" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand what-if" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete for each resource that it names' -r
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kill -d 'The kubelet is killed, and started again'
complete -c kq -n "__fish_kq_using_subcommand what-if" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand what-if" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand what-if" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand what-if" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand what-if" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The subjects of the problems, such as pod/NAMESPACE/NAME or node'
metrics\t'Numbers as OpenMetrics, for Prometheus'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l interval -d 'Time between two refreshes' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l checkpoint -d 'The device manager\'s checkpoint (default: the node\'s kubelet_internal_checkpoint)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l pod-resources -d 'The answer of the kubelet\'s pod-resources API as JSON. By default kq queries the kubelet' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s w -l watch -d 'Refresh until interrupted'
complete -c kq -n "__fish_kq_using_subcommand doctor" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand why" -s n -l namespace -d 'The namespace of pods that are named without one (default: a name matches in any namespace). Without names, only the pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l events -d 'Events: kubectl get events -A -o json; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-log -d 'The kubelet\'s log: journalctl -u kubelet -o cat, or in another journalctl format (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand why" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand why" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand why" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand why" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand why" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand why" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand why" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand why" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand why" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand why" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand why" -s A -l all-namespaces -d 'Pods of all namespaces (the default)'
complete -c kq -n "__fish_kq_using_subcommand why" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand why" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand why" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand why" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand explain" -s f -l filename -d 'A file with a log, or with a message; - reads standard input' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand explain" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand explain" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand explain" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand explain" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand explain" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand explain" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand explain" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand report" -s o -l output -d 'The file to write (default: standard output). Only the owner can read it' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l what-if -d 'Also show what these changes would do: the words of kq what-if, such as \'taint a=b:NoExecute\' (can be repeated, for changes to compare)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l preempt-for -d 'Also show which pods the kubelet would kill to take in the pod of this manifest' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l part -d 'Write only the part of this number in a page about so many nodes, as JSON' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l part-of -d 'The snapshot of that part' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand report" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand report" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand report" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand report" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand report" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand report" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand report" -l static -d 'Treat the pod of --preempt-for as a static pod'
complete -c kq -n "__fish_kq_using_subcommand report" -l with-snapshot -d 'Store the facts in the page, for --snapshot'
complete -c kq -n "__fish_kq_using_subcommand report" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand report" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand report" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand report" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand top" -l panel -d 'The first panel' -r -f -a "pods\t''
eviction\t''
images\t''
devices\t''
probes\t''"
complete -c kq -n "__fish_kq_using_subcommand top" -l interval -d 'Time between two refreshes (default: 1s; of a recording: as recorded)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l count -d 'With --plain: end after this many frames' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l record -d 'Record all frames to this new file, compressed if the name ends in .zst' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l replay -d 'Play a recording. With --plain, frames follow each other without pauses' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand top" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand top" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand top" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand top" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l capacity -d 'The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-version -d 'The kubelet version whose rules apply, such as 1.36 or 1.35.2' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand top" -l cgroup-driver -d 'The cgroup driver: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand top" -l qos-reserved -d 'Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l kube-reserved -d 'Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l system-reserved -d 'Resources reserved for the system, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l runtime-weight-formula -d 'The runtime\'s formula for CPU shares to cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand top" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them after a comma are those of RuntimeClasses, whose handlers have their names' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l runtime-set -d 'Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l swap-capacity -d 'The amount of swap of the machine' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand top" -l page-size -d 'The size of a memory page' -r
complete -c kq -n "__fish_kq_using_subcommand top" -l plain -d 'Write lines instead of redrawing the screen'
complete -c kq -n "__fish_kq_using_subcommand top" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand top" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand top" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand top" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "run" -d 'Run a command of kq on the nodes of a cluster, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "apply" -d 'Change the nodes of a cluster with one command, a few at a time'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "collect" -d 'Store a snapshot of each node of a cluster in a folder, for kq fleet ask'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "ask" -d 'Ask the same question about many snapshots, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "what-if" -d 'Show what a change of many nodes would disrupt, and an order of the nodes'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "clean" -d 'Delete the pods that earlier runs of kq fleet left behind'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "rbac" -d 'Print the RBAC manifests of a service account that may run a command of kq fleet'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "guard" -d 'Read the steps of a run from standard input, and delete the pods that are left at its end, for kq fleet run'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "answer" -d 'Run a command of kq, and write its answer packed and with a checksum, for kq fleet run'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "read" -d 'Read what one node sent, and write what counts of it, for the other commands of kq fleet'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "work" -d 'Answer a question about one snapshot after another, for kq fleet ask'
complete -c kq -n "__fish_kq_using_subcommand fleet; and not __fish_seen_subcommand_from run apply collect ask what-if clean rbac guard answer read work help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -s l -l selector -d 'Only nodes with these labels, such as pool=gpu; the syntax is kubectl\'s' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l nodes-from -d 'A file with the names of more nodes, as from kubectl get nodes -o name; - is standard input' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l sample -d 'Only this number of nodes, or this part of them, evenly spread over their names' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l image-pull-policy -d 'Always, IfNotPresent or Never' -r -f -a "Always\t''
IfNotPresent\t''
Never\t''"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -s n -l namespace -d 'The namespace of the pods; it must allow pods with the node\'s files' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l service-account -d 'The service account of the pods; its token is not mounted' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l priority-class -d 'The priority class of the pods' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l requests -d 'The requests of each pod, such as cpu=10m,memory=32Mi (default: none)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l parallel -d 'The number of nodes that are asked at a time' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l timeout -d 'Time limit for each node, including the pull of the image' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l image -d 'The image of kq, as in docs/release.md; the default is that of the release' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l group-by -d 'Count the nodes apart by the value of this label; pool is also the pool of EKS, GKE, AKS or Karpenter' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l value -d 'A number of each answer, by its path in JSON, such as run.usage.percent: percentiles, and the nodes at both ends' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The nodes, those with the worst results first'
jsonl\t'The complete answer of each node as it arrives, in one line'
csv\t'A line for each node as it arrives, with its results'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l privileged -d 'Give the pods every privilege. By default they run as root with three capabilities'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l api-only -d 'Create no pods: ask about what the API server has of each node'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l dry-run -d 'Show the plan and the first pod, and create nothing'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -s l -l selector -d 'Only nodes with these labels, such as pool=gpu; the syntax is kubectl\'s' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l nodes-from -d 'A file with the names of more nodes, as from kubectl get nodes -o name; - is standard input' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l sample -d 'Only this number of nodes, or this part of them, evenly spread over their names' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l image-pull-policy -d 'Always, IfNotPresent or Never' -r -f -a "Always\t''
IfNotPresent\t''
Never\t''"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -s n -l namespace -d 'The namespace of the pods; it must allow pods with the node\'s files' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l service-account -d 'The service account of the pods; its token is not mounted' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l priority-class -d 'The priority class of the pods' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l requests -d 'The requests of each pod, such as cpu=10m,memory=32Mi (default: none)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l parallel -d 'The number of nodes that are asked at a time' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l timeout -d 'Time limit for each node, including the pull of the image' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l image -d 'The image of kq, as in docs/release.md; the default is that of the release' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l canary -d 'Change this number of nodes first. If one of them fails, no other node changes' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l max-unavailable -d 'Change at most this number of nodes at a time, or this part of them, rounded up' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l max-failures -d 'Begin no more nodes after more than this number of failures' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l record -d 'Store what was done in this new file' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l resume -d 'Continue the record of an earlier run of the same command' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The nodes with a plan'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l privileged -d 'Give the pods every privilege. By default they run as root with three capabilities'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l cordon -d 'Mark each node as unschedulable while it changes. One whose change fails stays so'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan of each node without applying it'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -s l -l selector -d 'Only nodes with these labels, such as pool=gpu; the syntax is kubectl\'s' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l nodes-from -d 'A file with the names of more nodes, as from kubectl get nodes -o name; - is standard input' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l sample -d 'Only this number of nodes, or this part of them, evenly spread over their names' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l image-pull-policy -d 'Always, IfNotPresent or Never' -r -f -a "Always\t''
IfNotPresent\t''
Never\t''"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -s n -l namespace -d 'The namespace of the pods; it must allow pods with the node\'s files' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l service-account -d 'The service account of the pods; its token is not mounted' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l priority-class -d 'The priority class of the pods' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l requests -d 'The requests of each pod, such as cpu=10m,memory=32Mi (default: none)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l parallel -d 'The number of nodes that are asked at a time' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l timeout -d 'Time limit for each node, including the pull of the image' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l image -d 'The image of kq, as in docs/release.md; the default is that of the release' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -s d -l dir -d 'The directory, which must exist' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l from-ssh -d 'Print what collects the snapshots over ssh, and do nothing' -r -f -a "sh\t'A shell script'
ansible\t'A playbook'"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l privileged -d 'Give the pods every privilege. By default they run as root with three capabilities'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l api-only -d 'Create no pods: ask about what the API server has of each node'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l dry-run -d 'Show the plan and the first pod, and create nothing'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -l resume -d 'Leave out nodes that have a snapshot in DIR already, as after a run that was interrupted'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from collect" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -s l -l selector -d 'Only nodes with these labels, such as pool=gpu; the syntax is kubectl\'s' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l parallel -d 'The number of snapshots read at a time (default: one for each core)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l timeout -d 'Time limit for each answer' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l diff -d 'Snapshots taken before: show the nodes whose results differ' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l group-by -d 'Count the nodes apart by the value of this label; pool is also the pool of EKS, GKE, AKS or Karpenter' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -l value -d 'A number of each answer, by its path in JSON, such as run.usage.percent: percentiles, and the nodes at both ends' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The nodes, those with the worst results first'
jsonl\t'The complete answer of each node as it arrives, in one line'
csv\t'A line for each node as it arrives, with its results'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from ask" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -s l -l selector -d 'Only nodes with these labels, such as pool=gpu; the syntax is kubectl\'s' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l parallel -d 'The number of snapshots read at a time (default: one for each core)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l timeout -d 'Time limit for each answer' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l pdbs -d 'A file with the PodDisruptionBudgets, as from kubectl get pdb -A -o json or yaml; - is standard input' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l group-by -d 'The label of pools; pool is also the pool of EKS, GKE, AKS or Karpenter' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l wave-size -d 'Put at most this number of nodes into a wave, or this part of all of them, rounded up' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
name\t'The nodes of each wave, in one line'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from what-if" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -s n -l namespace -d 'The namespace of the pods' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l pods-of -d 'All pods of this run, which is the value of their label kq.fleet/run' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l timeout -d 'Time limit for the list of pods, and for each deletion' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l dry-run -d 'Show the plan, and delete nothing'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -l yes -d 'Do not ask for confirmation'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from clean" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -s n -l namespace -d 'The namespace of the account and of the pods' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -l name -d 'The name of the account, of the roles and of the bindings' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -s o -l output -d 'Output format' -r -f -a "yaml\t'A document for each object'
json\t'A List of the objects'"
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -l api-only -d 'The rights of run and collect with --api-only'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -l cordon -d 'The rights of apply with --cordon'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from rbac" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l namespace -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l run -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)' -r -F
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from guard" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from answer" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from answer" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from read" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from read" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from work" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from work" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a command of kq on the nodes of a cluster, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Change the nodes of a cluster with one command, a few at a time'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "collect" -d 'Store a snapshot of each node of a cluster in a folder, for kq fleet ask'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "ask" -d 'Ask the same question about many snapshots, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "what-if" -d 'Show what a change of many nodes would disrupt, and an order of the nodes'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "clean" -d 'Delete the pods that earlier runs of kq fleet left behind'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "rbac" -d 'Print the RBAC manifests of a service account that may run a command of kq fleet'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "guard" -d 'Read the steps of a run from standard input, and delete the pods that are left at its end, for kq fleet run'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "answer" -d 'Run a command of kq, and write its answer packed and with a checksum, for kq fleet run'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "read" -d 'Read what one node sent, and write what counts of it, for the other commands of kq fleet'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "work" -d 'Answer a question about one snapshot after another, for kq fleet ask'
complete -c kq -n "__fish_kq_using_subcommand fleet; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s o -l output -d 'Where to store the snapshot, compressed if the name ends in .zst (default: standard output)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-config -d 'The KubeletConfiguration, or the response of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-config-dir -d 'A directory of drop-in files, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-version -d 'The kubelet\'s version, such as 1.36 or 1.35.2, in place of the one that the node shows' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, in place of the one that the node shows' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand schema" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand version" -s o -l output -d 'Output format' -r -f -a "table\t'Human-readable summary'
wide\t'All details'
json\t'The complete answer as JSON'
yaml\t'The complete answer as YAML'
jsonpath=\t'Values by a template of kubectl, such as jsonpath=\'{.items[*].id}\''
custom-columns=\t'A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes'"
complete -c kq -n "__fish_kq_using_subcommand version" -l snapshot -d 'Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by other flags are still read' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l host-root -d 'The root of the node\'s file system (default: /host in a debugging container, else /). For a copy of a node\'s files, kq queries no server' -r -F
complete -c kq -n "__fish_kq_using_subcommand version" -l pods -d 'The pods of the node: manifests or lists; - reads standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l pods-from -d 'Read pods only from this source: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand version" -l node-name -d 'The node\'s name in the API server (default: the kubelet\'s node name, else the host name)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l kubeconfig -d 'The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet\'s kubeconfig)' -r -F
complete -c kq -n "__fish_kq_using_subcommand version" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l cluster -d 'The cluster in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l user -d 'The user in the kubeconfig (default: that of the context)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l as -d 'The user to impersonate in requests to the API server' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l as-group -d 'A group to impersonate (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l as-uid -d 'The UID to impersonate' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250 (default: the address in its configuration)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-client-key -d 'The key of the client certificate (default: in the certificate\'s file)' -r -F
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-certificate-authority -d 'The CA of the kubelet\'s certificate, in PEM. Without it, the server must present the certificate in the kubelet\'s directory, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand version" -s r -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock (default: $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s endpoint, the usual sockets)' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l timeout -d 'Time limit for each source' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-version -d 'The kubelet\'s version, such as 1.36 or 1.35.2, in place of the one that the node shows' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, in place of the one that the node shows' -r
complete -c kq -n "__fish_kq_using_subcommand version" -l client -d 'Show the version of kq alone; no source is queried'
complete -c kq -n "__fish_kq_using_subcommand version" -l live -d 'Query this machine for anything not set by flags, even when files are given'
complete -c kq -n "__fish_kq_using_subcommand version" -l kubelet-insecure-skip-tls-verify -d 'Accept any certificate from the server at the kubelet\'s address, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand version" -s v -l verbose -d 'List the sources queried and their results, and every assumption'
complete -c kq -n "__fish_kq_using_subcommand version" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand version" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand completion" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "cgroup" -d 'Plan, explain and check cgroup values'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "gc" -d 'Predict, explain and run image garbage collection'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "evict" -d 'Show the order in which the kubelet would evict pods'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "devices" -d 'Inspect device allocations and predict what the device manager will do'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "probe" -d 'Run container probes as the kubelet does, and explain the consequences'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "admit" -d 'Check whether the kubelet would admit a pod'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "allocatable" -d 'Show what a node has for pods: its capacity less the reservations'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "preempt" -d 'Show which pods the kubelet would preempt for a critical pod, or evict them'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "what-if" -d 'Show what a change would do to the node, before it is made'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "doctor" -d 'Check the whole node, or show one pod on one page'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "why" -d 'Show what ended, refused, killed, throttled or delayed a pod'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "explain" -d 'Explain a message of the kubelet: which rule spoke, and what its numbers are'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "report" -d 'Write one page about a node, with pictures of the answers'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "top" -d 'Watch the pods of this node in the terminal'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "fleet" -d 'Ask many nodes the same question, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "snapshot" -d 'Store all data that kq can read about this node'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "schema" -d 'Print the JSON Schema of a kind of answer'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "version" -d 'Show the versions of kq, the kubelet and the runtime, and the rules in use'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "completion" -d 'Print the completion script of a shell'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit allocatable preempt what-if doctor why explain report top fleet snapshot schema version completion help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "shares" -d 'Show the CPU time of each container when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "explain" -d 'Explain the meaning and the possible origin of a value in a cgroup file'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "show" -d 'Show the cgroups of this node with the names of pods and containers'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "throttling" -d 'Rank the containers of this node by CPU throttling'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "diff" -d 'Compare the plan with the kernel\'s cgroup values'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "apply" -d 'Write the planned values where the kernel differs'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "rollback" -d 'Restore the values that kq cgroup apply changed'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "which" -d 'Find the pod and container of a process, a cgroup or a container ID'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "dry-run" -d 'Show the images that would be removed now, in order, with reasons'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "explain" -d 'Explain the state and fate of one image, or the disk that holds the images'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "apply" -d 'Remove the images that dry-run lists'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "images" -d 'List the images with size, age, last use, pinned state and users'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "lint" -d 'Find invalid, unwise or surprising garbage collection settings'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "policy" -d 'Show the policy in force, the origin of each value, and the kubelet\'s errors'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "record" -d 'Record image times as the kubelet does in its memory'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "watch" -d 'Run the kubelet\'s garbage-collection loop and report each pass'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from evict" -f -a "rank" -d 'Show the order in which this node\'s kubelet would evict pods, and why'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "list" -d 'Show the devices of each container, and their state'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "verify" -d 'Check the kubelet\'s state files for devices, CPUs, memory and pods'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "plan" -d 'Show the devices that a pod would get now, or the kubelet\'s error'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "capacity" -d 'Show the node\'s device capacity as the kubelet counts it'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "plugins" -d 'Show the device plugins, and whether the kubelet is connected to them'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "serve" -d 'Run a fake kubelet for developing a device plugin'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "allocate" -d 'Allocate devices to a pod through the fake kubelet'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "repair" -d 'Repair the device checkpoint of a stopped kubelet'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "run" -d 'Probe a container now, as the kubelet does, and explain the result'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "plan" -d 'Show the requests that the kubelet will send, and when they have consequences'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "simulate" -d 'Replay a sequence of probe results through the kubelet\'s worker'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "lint" -d 'Find invalid, unwise or surprising settings in the probes of pods'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from admit" -f -a "explain" -d 'Show whether this node\'s kubelet would admit a pod now, and why not'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "explain" -d 'Show which pods this node\'s kubelet would preempt to admit a pod, and why'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "apply" -d 'Evict the victims that explain shows, until the pod fits'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "why" -d 'Show which component killed a pod, and for which other pod'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "lint" -d 'Find pods that their priority does not protect from the kubelet'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "run" -d 'Run a command of kq on the nodes of a cluster, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "apply" -d 'Change the nodes of a cluster with one command, a few at a time'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "collect" -d 'Store a snapshot of each node of a cluster in a folder, for kq fleet ask'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "ask" -d 'Ask the same question about many snapshots, and merge the answers'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "what-if" -d 'Show what a change of many nodes would disrupt, and an order of the nodes'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "clean" -d 'Delete the pods that earlier runs of kq fleet left behind'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "rbac" -d 'Print the RBAC manifests of a service account that may run a command of kq fleet'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "guard" -d 'Read the steps of a run from standard input, and delete the pods that are left at its end, for kq fleet run'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "answer" -d 'Run a command of kq, and write its answer packed and with a checksum, for kq fleet run'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "read" -d 'Read what one node sent, and write what counts of it, for the other commands of kq fleet'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from fleet" -f -a "work" -d 'Answer a question about one snapshot after another, for kq fleet ask'
