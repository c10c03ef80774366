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

complete -c kq -n "__fish_kq_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_needs_command" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_needs_command" -f -a "cgroup" -d 'Plan, explain and check cgroup values'
complete -c kq -n "__fish_kq_needs_command" -f -a "gc" -d 'Foresee, explain and do the garbage collection of images'
complete -c kq -n "__fish_kq_needs_command" -f -a "evict" -d 'Tell whom the kubelet evicts when the node runs short'
complete -c kq -n "__fish_kq_needs_command" -f -a "devices" -d 'Tell who has which device, and what the kubelet\'s device manager would do next'
complete -c kq -n "__fish_kq_needs_command" -f -a "probe" -d 'Run the probes of containers as the kubelet does, and say what follows'
complete -c kq -n "__fish_kq_needs_command" -f -a "admit" -d 'Tell whether the kubelet takes a pod'
complete -c kq -n "__fish_kq_needs_command" -f -a "preempt" -d 'Tell which pods the kubelet would kill to take in a critical one, and evict them'
complete -c kq -n "__fish_kq_needs_command" -f -a "doctor" -d 'Check this node: what is known of it from where, and what is wrong with its cgroups'
complete -c kq -n "__fish_kq_needs_command" -f -a "snapshot" -d 'Store everything that kq can find out about this node'
complete -c kq -n "__fish_kq_needs_command" -f -a "completion" -d 'Print the completions for a shell'
complete -c kq -n "__fish_kq_needs_command" -f -a "man" -d 'Write the man pages into a folder'
complete -c kq -n "__fish_kq_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "shares" -d 'Show who gets how much CPU when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "explain" -d 'Say what a value in a cgroup file means and where it can come from'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "show" -d 'Show the cgroups of this node with the names of pods and containers'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "diff" -d 'Hold the plan against what the kernel has, value by value'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "apply" -d 'Bring the kernel to the plan: write the values that drift'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "rollback" -d 'Take back what kq cgroup apply did'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "which" -d 'Say which pod and container a process, a cgroup or a container id belongs to'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain show diff apply rollback which help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l on-node -d 'Only the pods that are bound to this node, or to none yet; else the name in --node-file' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime-weight-formula -d 'How the runtime turns CPU shares into a cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, from which the formula follows' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l swap-capacity -d 'The machine\'s swap' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l page-size -d 'The size of a page of memory' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l static -d 'The pods are read from the kubelet\'s folder of static pods, not from the API server'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l on-node -d 'Only the pods that are bound to this node, or to none yet; else the name in --node-file' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l runtime-weight-formula -d 'How the runtime turns CPU shares into a cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, from which the formula follows' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l swap-capacity -d 'The machine\'s swap' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l page-size -d 'The size of a page of memory' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cpus -d 'How many CPUs are divided; else those of --capacity or --node-file' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l sibling -d 'A busy cgroup beside kubepods and its weight (shares on cgroup v1), such as system.slice=100 (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l static -d 'The pods are read from the kubelet\'s folder of static pods, not from the API server'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to show the answer' -r -f -a "table\t'Lines to read'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l interval -d 'How long to wait before looking again' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s w -l watch -d 'Look again and again'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l runtime-weight-formula -d 'How the runtime turns CPU shares into a cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, from which the formula follows' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l swap-capacity -d 'The machine\'s swap' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l page-size -d 'The size of a page of memory' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from diff" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l rollback-file -d 'Where to store the way back; else kq-rollback-TIME.json in this folder' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l runtime-weight-formula -d 'How the runtime turns CPU shares into a cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, from which the formula follows' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l swap-capacity -d 'The machine\'s swap' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l page-size -d 'The size of a page of memory' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan and do nothing'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do it without asking'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l allow-oom -d 'Set limits even below what is in use now: processes may be killed'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l dry-run -d 'Show the plan and do nothing'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s y -l yes -d 'Do it without asking'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l allow-oom -d 'Set limits even below what is in use now: processes may be killed'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from rollback" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l pid -d 'A process' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l path -d 'A cgroup: its path below the hierarchy\'s root, or the path of its folder or of a file in it' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l container -d 'A container, by its id or the beginning of it' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from which" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "shares" -d 'Show who gets how much CPU when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Say what a value in a cgroup file means and where it can come from'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the cgroups of this node with the names of pods and containers'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Hold the plan against what the kernel has, value by value'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Bring the kernel to the plan: write the values that drift'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "rollback" -d 'Take back what kq cgroup apply did'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "which" -d 'Say which pod and container a process, a cgroup or a container id belongs to'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "dry-run" -d 'Say what would be removed now, in which order, and why (not)'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "explain" -d 'Tell the story of one image, or of the disk that images are on'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "apply" -d 'Remove what dry-run shows'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "images" -d 'List the images: size, age, last use, pinned, used by'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "lint" -d 'Find what is refused, unwise or surprising in the settings'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "policy" -d 'Show the policy in force, who set it, and what the kubelet refuses'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "record" -d 'Keep records of images as the kubelet does in its memory'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "watch" -d 'Turn the kubelet\'s loop and say what each pass would do'
complete -c kq -n "__fish_kq_using_subcommand gc; and not __fish_seen_subcommand_from dry-run explain apply images lint policy record watch help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l trigger -d 'What sets it going' -r -f -a "periodic\t'The kubelet\'s loop: what is too old, then as much as the thresholds want'
age\t'The part of the loop that removes what is too old'
eviction\t'Disk pressure: what the kubelet would reclaim for it now, or else if there were any'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l at-usage -d 'Take the image file system for this full, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l image-fs-capacity -d 'The size of the image file system; else that of the node\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from dry-run" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l at-usage -d 'Take the image file system for this full, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l image-fs-capacity -d 'The size of the image file system; else that of the node\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l disk -d 'Explain the disk that images are on'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l max -d 'Remove no more images than this' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l keep -d 'Keep images with a tag, digest or id that matches (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l trigger -d 'What sets it going' -r -f -a "periodic\t'The kubelet\'s loop: what is too old, then as much as the thresholds want'
age\t'The part of the loop that removes what is too old'
eviction\t'Disk pressure: what the kubelet would reclaim for it now, or else if there were any'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l at-usage -d 'Take the image file system for this full, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l image-fs-capacity -d 'The size of the image file system; else that of the node\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan and do nothing'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do it without asking'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l allow-unsure -d 'Remove also images that may be younger than imageMinimumGCAge, or unused for less than imageMaximumGCAge: nobody but the kubelet knows'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from images" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from lint" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from policy" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l interval -d 'How long to wait before looking again' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l once -d 'Look once'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from record" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l interval -d 'How long to wait after each pass' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l passes -d 'End after so many passes' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l max -d 'Remove no more images than this' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l keep -d 'Keep images with a tag, digest or id that matches (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Names only: paths of cgroups, ids of images'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l trigger -d 'What sets it going' -r -f -a "periodic\t'The kubelet\'s loop: what is too old, then as much as the thresholds want'
age\t'The part of the loop that removes what is too old'
eviction\t'Disk pressure: what the kubelet would reclaim for it now, or else if there were any'"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l at-usage -d 'Take the image file system for this full, such as 90%' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l image-fs-capacity -d 'The size of the image file system; else that of the node\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l records -d 'The file of kq gc record; else /var/lib/kq/image-records.json on the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l allow-unsure -d 'Remove also images that may be younger than imageMinimumGCAge, or unused for less than imageMaximumGCAge: nobody but the kubelet knows'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s y -l yes -d 'Remove without asking what each pass says'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from watch" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "dry-run" -d 'Say what would be removed now, in which order, and why (not)'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Tell the story of one image, or of the disk that images are on'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Remove what dry-run shows'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "images" -d 'List the images: size, age, last use, pinned, used by'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Find what is refused, unwise or surprising in the settings'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "policy" -d 'Show the policy in force, who set it, and what the kubelet refuses'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "record" -d 'Keep records of images as the kubelet does in its memory'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "watch" -d 'Turn the kubelet\'s loop and say what each pass would do'
complete -c kq -n "__fish_kq_using_subcommand gc; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -f -a "rank" -d 'Show in which order this node\'s kubelet would evict pods, and what decides it'
complete -c kq -n "__fish_kq_using_subcommand evict; and not __fish_seen_subcommand_from rank help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l signal -d 'What runs short' -r -f -a "memory\t''
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
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l stats -d 'What the kubelet measured (kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary); else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l node-file -d 'The Node object (kubectl get node NAME -o json): whose pods count, the kubelet\'s version, what the node reports' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from rank" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from help" -f -a "rank" -d 'Show in which order this node\'s kubelet would evict pods, and what decides it'
complete -c kq -n "__fish_kq_using_subcommand evict; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "list" -d 'Show which container has which device, and in what state'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "verify" -d 'Check the files in which the kubelet remembers devices, CPUs, memory and pods'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "plan" -d 'Show which devices a pod would get now, or the kubelet\'s error'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "capacity" -d 'Show which devices the node offers, as the kubelet counts them'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "plugins" -d 'Show the device plugins, and whether the kubelet is connected to them'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "serve" -d 'Stand in for the kubelet\'s side, for a plugin that is being written'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "allocate" -d 'Have a kubelet\'s stand-in allocate devices to a pod'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "repair" -d 'Mend the device checkpoint of a kubelet that is stopped'
complete -c kq -n "__fish_kq_using_subcommand devices; and not __fish_seen_subcommand_from list verify plan capacity plugins serve allocate repair help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s n -l namespace -d 'Only pods of this namespace' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l source -d 'Ask only one source' -r -f -a "checkpoint\t'The kubelet\'s checkpoint'
podresources\t'The kubelet\'s pod-resources API'
both\t'Both, held against each other'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l checkpoint -d 'The device manager\'s checkpoint; else kubelet_internal_checkpoint of the node' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l pod-resources -d 'What the kubelet answers on its pod-resources socket, as JSON; else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l node-file -d 'The Node object (kubectl get node NAME -o json); else the API server is asked' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s A -l all-namespaces -d 'Pods of all namespaces, as without it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l free -d 'Show the healthy devices that no active pod has, instead'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kind -d 'What the named files are, whatever their names are: in a word, or by the kubelet\'s name' -r -f -a "devices\t''
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
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l checkpoint -d 'The device manager\'s checkpoint: a FILE, whatever its name is' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from verify" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l unhealthy -d 'Take a device for unhealthy: its id, or RESOURCE=ID (can be repeated); without POD or FILE: who has it, and what the node offers then' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l ask-plugin -d 'Ask plugins which devices they prefer (GetPreferredAllocation): those of the resources that the pod needs, found in the folder of device plugins; or the one on the socket that is named, which must be that of the resource (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l dir -d 'The folder of device plugins, for --ask-plugin; else that of the kubelet that runs, else /var/lib/kubelet/device-plugins' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML; they are all of their resources' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l numa-nodes -d 'The NUMA nodes of the machine, such as 0,1 or 0-1; else those that its kernel lists' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l topology-manager-policy -d 'topologyManagerPolicy: none, best-effort, restricted or single-numa-node; else the kubelet\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l topology-manager-scope -d 'topologyManagerScope: container or pod; else the kubelet\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l checkpoint -d 'The device manager\'s checkpoint; else kubelet_internal_checkpoint of the node' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l pod-resources -d 'What the kubelet answers on its pod-resources socket, as JSON; else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l node-file -d 'The Node object (kubectl get node NAME -o json); else the API server is asked' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-restart -d 'The kubelet starts anew, and no plugin has registered yet'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l devices -d 'The devices: a list of {resource, id, health, numaNodes} in JSON or YAML; they are all of their resources' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l checkpoint -d 'The device manager\'s checkpoint; else kubelet_internal_checkpoint of the node' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l pod-resources -d 'What the kubelet answers on its pod-resources socket, as JSON; else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l node-file -d 'The Node object (kubectl get node NAME -o json); else the API server is asked' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from capacity" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l dir -d 'The folder of device plugins; else that of the kubelet that runs, else /var/lib/kubelet/device-plugins' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l wait -d 'Wait until a resource can be allocated' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l timeout -d 'How long to wait' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l call-timeout -d 'How long each plugin may take to answer' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -l no-ask -d 'Do not ask plugins anything: only look'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from plugins" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l dir -d 'The folder of kubelet.sock and of the plugins\' sockets; made where there is none' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l call-timeout -d 'How long a plugin may take for a call; the kubelet waits for ever, but for PreStartContainer' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l grace-period -d 'How long a resource outlives its plugin; the kubelet\'s five minutes are long for a test' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -l host-root -d 'The folder where the node\'s root is, whose kubelet is kept away from; else /host in a debugging container, else /' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -s o -l output -d 'How to show what happens' -r -f -a "text\t'A line each'
json\t'An object of JSON each, on a line'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from serve" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l dir -d 'The folder in which kq devices serve runs' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l remove -d 'End a pod: NAME, NAMESPACE/NAME or UID' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l topology-manager-policy -d 'topologyManagerPolicy: none, best-effort, restricted or single-numa-node' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l topology-manager-scope -d 'topologyManagerScope: container or pod' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l numa-nodes -d 'The NUMA nodes of the machine, such as 0,1; else those of the devices' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -l no-start -d 'Stop before the containers would start: PreStartContainer is not called'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from allocate" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l remove -d 'Remove the entries of a pod, of a container of it, or one resource of that: UID[/CONTAINER[/RESOURCE]] or NAMESPACE/NAME[/CONTAINER[/RESOURCE]], or NAME alone of the only pod that is called so (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l backup -d 'Where to keep the old file; else beside the folder of device plugins, with the time in its name' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l checkpoint -d 'The file to mend; else kubelet_internal_checkpoint of the node' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l remove-stale -d 'Remove the entries of pods that are gone or have ended'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l rebuild -d 'Make a sound file of a damaged one'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l force -d 'Remove also what is named and in use, or may be; with --rebuild, write also where entries are lost, or may be wrong'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l dry-run -d 'Show the plan and do nothing'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s y -l yes -d 'Do it without asking'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from repair" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show which container has which device, and in what state'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Check the files in which the kubelet remembers devices, CPUs, memory and pods'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show which devices a pod would get now, or the kubelet\'s error'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "capacity" -d 'Show which devices the node offers, as the kubelet counts them'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "plugins" -d 'Show the device plugins, and whether the kubelet is connected to them'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "serve" -d 'Stand in for the kubelet\'s side, for a plugin that is being written'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "allocate" -d 'Have a kubelet\'s stand-in allocate devices to a pod'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "repair" -d 'Mend the device checkpoint of a kubelet that is stopped'
complete -c kq -n "__fish_kq_using_subcommand devices; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "run" -d 'Probe a container as the kubelet does, now, and say what it means'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "plan" -d 'Show what the kubelet will send, and when something can follow from it'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "simulate" -d 'Say what the kubelet makes of a row of probe results'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "lint" -d 'Find what is refused, unwise or surprising in the probes of pods'
complete -c kq -n "__fish_kq_using_subcommand probe; and not __fish_seen_subcommand_from run plan simulate lint help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s c -l container -d 'The container; with --exec and without a pod its id, or its name where only one has it' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l type -d 'Which of the probes; of one that is named here, what it would be' -r -f -a "startup\t'Has it started?'
readiness\t'May it get requests?'
liveness\t'Is it alive?'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l http -d 'Get a URL' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s H -l header -d 'A header for --http, such as \'Host: shop.example.org\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l tcp -d 'Open a connection' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l grpc -d 'Ask the gRPC health service' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l service -d 'The service to ask --grpc for; else the server as a whole' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l count -d 'Probe so often, then sum up' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l interval -d 'How far apart: probe, which is each probe\'s own periodSeconds, or a duration such as 500ms' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l timeout-seconds -d 'How long one attempt may take; not to be confused with --timeout, which is for facts' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l period-seconds -d 'How often it is probed' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l initial-delay-seconds -d 'How long after the start of the container nothing is probed' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l failure-threshold -d 'How many failures in a row count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l success-threshold -d 'How many successes in a row count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l pod-ip -d 'The IP of the one pod that is named; else what the kubelet reported, else what the runtime says' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l all -d 'Every probe of every pod of the node, at once'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l exec -d 'Run the command after -- in the container'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l compare -d 'Also in the ways in which people try it by hand: curl, from inside the pod\'s network, to 127.0.0.1, with more time; and what the difference tells'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l until-action -d 'Probe until the kubelet would do something: kill the container, take it for ready, not ready or started'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s w -l watch -d 'Probe until it is interrupted'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s c -l container -d 'Only of this container' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l type -d 'Only this probe' -r -f -a "startup\t'Has it started?'
readiness\t'May it get requests?'
liveness\t'Is it alive?'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l timeout-seconds -d 'How long one attempt may take; not to be confused with --timeout, which is for facts' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l period-seconds -d 'How often it is probed' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l initial-delay-seconds -d 'How long after the start of the container nothing is probed' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l failure-threshold -d 'How many failures in a row count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l success-threshold -d 'How many successes in a row count' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l pod-ip -d 'The IP of the one pod that is named; else what the kubelet reported, else what the runtime says' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l initial-delay-seconds -d 'Another initialDelaySeconds' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l period-seconds -d 'Another periodSeconds, for the steps without a time of their own' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l success-threshold -d 'Another successThreshold' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l failure-threshold -d 'Another failureThreshold' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -l feature-gates -d 'Feature gates beside those of the trace, such as ContainerRestartRules=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from simulate" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l pod-ip -d 'The IP of the one pod that is named; else what the kubelet reported, else what the runtime says' -r
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from lint" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "run" -d 'Probe a container as the kubelet does, now, and say what it means'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show what the kubelet will send, and when something can follow from it'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "simulate" -d 'Say what the kubelet makes of a row of probe results'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "lint" -d 'Find what is refused, unwise or surprising in the probes of pods'
complete -c kq -n "__fish_kq_using_subcommand probe; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -f -a "explain" -d 'Show whether this node\'s kubelet takes a pod now, and what says no'
complete -c kq -n "__fish_kq_using_subcommand admit; and not __fish_seen_subcommand_from explain help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l priority -d 'The pod\'s priority, or system-cluster-critical or system-node-critical; else that of its spec' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l without -d 'Answer as if this pod were not on the node: NAMESPACE/NAME (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l node-file -d 'The Node object (kubectl get node NAME -o json); else the API server is asked' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l checkpoint -d 'The device manager\'s checkpoint; else kubelet_internal_checkpoint of the node' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l pod-resources -d 'What the kubelet answers on its pod-resources socket, as JSON; else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-restart -d 'Show which pods of the node a kubelet that starts anew would take in again'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l static -d 'Take the pod of the file for a static one, as from the kubelet\'s folder'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Show whether this node\'s kubelet takes a pod now, and what says no'
complete -c kq -n "__fish_kq_using_subcommand admit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why help" -f -a "explain" -d 'Show whom this node\'s kubelet would kill to take in a pod, and why them'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why help" -f -a "apply" -d 'Evict the victims that explain shows, until the pod fits'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why help" -f -a "why" -d 'Tell who killed a pod, and for which other pod'
complete -c kq -n "__fish_kq_using_subcommand preempt; and not __fish_seen_subcommand_from explain apply why help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l priority -d 'The pod\'s priority, or system-cluster-critical or system-node-critical; else that of its spec' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l without -d 'Answer as if this pod were not on the node: NAMESPACE/NAME (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l node-file -d 'The Node object (kubectl get node NAME -o json); else the API server is asked' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l checkpoint -d 'The device manager\'s checkpoint; else kubelet_internal_checkpoint of the node' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l pod-resources -d 'What the kubelet answers on its pod-resources socket, as JSON; else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l order -d 'The order of the pods as the kubelet has them: NAMESPACE/NAME, those that are not named come after; else the order of their names' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l static -d 'Take the pod of the file for a static one, as from the kubelet\'s folder'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -l all-nodes -d 'Ask every node of the cluster, and show the cheapest first'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l budget-timeout -d 'How long to wait for the disruption budgets of each victim; 0s: not at all' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l victim-timeout -d 'How long to wait for each victim to go; else as long as the kubelet: half as long again as its grace period, and 10s at least' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l order -d 'The order of the pods as the kubelet has them: NAMESPACE/NAME, those that are not named come after; else the order of their names' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l priority -d 'The pod\'s priority, or system-cluster-critical or system-node-critical; else that of its spec' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l without -d 'Answer as if this pod were not on the node: NAMESPACE/NAME (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l node-file -d 'The Node object (kubectl get node NAME -o json); else the API server is asked' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l checkpoint -d 'The device manager\'s checkpoint; else kubelet_internal_checkpoint of the node' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l pod-resources -d 'What the kubelet answers on its pod-resources socket, as JSON; else it is asked' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-start -d 'When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h; else that of its process' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l dry-run -d 'Show the plan, and what the API server says to it, and do nothing'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do it without asking'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l like-kubelet -d 'Delete the victims as the kubelet kills them: no disruption budget is asked'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l static -d 'Take the pod of the file for a static one, as from the kubelet\'s folder'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from apply" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l events -d 'Events: kubectl get events -A -o json; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-log -d 'The kubelet\'s log: journalctl -u kubelet -o cat, or any other form of it (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Everything that is known'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from why" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Show whom this node\'s kubelet would kill to take in a pod, and why them'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Evict the victims that explain shows, until the pod fits'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "why" -d 'Tell who killed a pod, and for which other pod'
complete -c kq -n "__fish_kq_using_subcommand preempt; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A line for each check'
wide\t'With what to do'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand doctor" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l runtime-weight-formula -d 'How the runtime turns CPU shares into a cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, from which the formula follows' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l swap-capacity -d 'The machine\'s swap' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand doctor" -l page-size -d 'The size of a page of memory' -r
complete -c kq -n "__fish_kq_using_subcommand doctor" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand doctor" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s o -l output -d 'Where to store it, compressed when the name ends in .zst; else it is printed' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l snapshot -d 'A file of kq snapshot; nothing else is read then but files that are named' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l host-root -d 'The folder where the node\'s root is; else /host in a debugging container, else /. A copy of a node\'s files is read, and no server is asked for it' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l pods -d 'The pods of the node: manifests or lists; - is standard input (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l pods-from -d 'Ask only this source for pods: api-server, kubelet, static or runtime' -r -f -a "api-server\t''
kubelet\t''
static\t''
runtime\t''"
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l node-name -d 'The node\'s name to the API server; else the kubelet\'s, else the host\'s' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubeconfig -d 'How to reach the API server; else $KUBECONFIG, else the kubelet\'s own' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l context -d 'The context in the kubeconfig' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-url -d 'The kubelet\'s API, such as https://127.0.0.1:10250; else what its configuration says' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-token-file -d 'A bearer token for the kubelet\'s API' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-client-certificate -d 'A client certificate for the kubelet\'s API, in PEM' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-client-key -d 'The key of the client certificate; else it is in the same file' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-certificate-authority -d 'The authority of the kubelet\'s certificate, in PEM; else the server must show the certificate in the kubelet\'s folder, or listen on a socket of the kubelet\'s process' -r -F
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l runtime-endpoint -d 'The container runtime, such as unix:///run/containerd/containerd.sock; else $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet\'s, the usual sockets' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l timeout -d 'How long each source may take' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l live -d 'Ask this machine for everything that no flag says, also where files are given'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -l kubelet-insecure-skip-tls-verify -d 'Believe the server at the kubelet\'s address whatever certificate it shows, and send it the token'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s v -l verbose -d 'Say what was asked, and what came of it'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand snapshot" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand completion" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand man" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand man" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "cgroup" -d 'Plan, explain and check cgroup values'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "gc" -d 'Foresee, explain and do the garbage collection of images'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "evict" -d 'Tell whom the kubelet evicts when the node runs short'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "devices" -d 'Tell who has which device, and what the kubelet\'s device manager would do next'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "probe" -d 'Run the probes of containers as the kubelet does, and say what follows'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "admit" -d 'Tell whether the kubelet takes a pod'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "preempt" -d 'Tell which pods the kubelet would kill to take in a critical one, and evict them'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "doctor" -d 'Check this node: what is known of it from where, and what is wrong with its cgroups'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "snapshot" -d 'Store everything that kq can find out about this node'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "completion" -d 'Print the completions for a shell'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "man" -d 'Write the man pages into a folder'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup gc evict devices probe admit preempt doctor snapshot completion man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "shares" -d 'Show who gets how much CPU when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "explain" -d 'Say what a value in a cgroup file means and where it can come from'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "show" -d 'Show the cgroups of this node with the names of pods and containers'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "diff" -d 'Hold the plan against what the kernel has, value by value'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "apply" -d 'Bring the kernel to the plan: write the values that drift'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "rollback" -d 'Take back what kq cgroup apply did'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "which" -d 'Say which pod and container a process, a cgroup or a container id belongs to'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "dry-run" -d 'Say what would be removed now, in which order, and why (not)'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "explain" -d 'Tell the story of one image, or of the disk that images are on'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "apply" -d 'Remove what dry-run shows'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "images" -d 'List the images: size, age, last use, pinned, used by'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "lint" -d 'Find what is refused, unwise or surprising in the settings'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "policy" -d 'Show the policy in force, who set it, and what the kubelet refuses'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "record" -d 'Keep records of images as the kubelet does in its memory'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from gc" -f -a "watch" -d 'Turn the kubelet\'s loop and say what each pass would do'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from evict" -f -a "rank" -d 'Show in which order this node\'s kubelet would evict pods, and what decides it'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "list" -d 'Show which container has which device, and in what state'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "verify" -d 'Check the files in which the kubelet remembers devices, CPUs, memory and pods'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "plan" -d 'Show which devices a pod would get now, or the kubelet\'s error'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "capacity" -d 'Show which devices the node offers, as the kubelet counts them'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "plugins" -d 'Show the device plugins, and whether the kubelet is connected to them'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "serve" -d 'Stand in for the kubelet\'s side, for a plugin that is being written'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "allocate" -d 'Have a kubelet\'s stand-in allocate devices to a pod'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from devices" -f -a "repair" -d 'Mend the device checkpoint of a kubelet that is stopped'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "run" -d 'Probe a container as the kubelet does, now, and say what it means'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "plan" -d 'Show what the kubelet will send, and when something can follow from it'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "simulate" -d 'Say what the kubelet makes of a row of probe results'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from probe" -f -a "lint" -d 'Find what is refused, unwise or surprising in the probes of pods'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from admit" -f -a "explain" -d 'Show whether this node\'s kubelet takes a pod now, and what says no'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "explain" -d 'Show whom this node\'s kubelet would kill to take in a pod, and why them'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "apply" -d 'Evict the victims that explain shows, until the pod fits'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from preempt" -f -a "why" -d 'Tell who killed a pod, and for which other pod'
