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
complete -c kq -n "__fish_kq_needs_command" -f -a "cgroup" -d 'Plan and explain cgroup values'
complete -c kq -n "__fish_kq_needs_command" -f -a "completion" -d 'Print the completions for a shell'
complete -c kq -n "__fish_kq_needs_command" -f -a "man" -d 'Write the man pages into a folder'
complete -c kq -n "__fish_kq_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain help" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain help" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain help" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain help" -f -a "shares" -d 'Show who gets how much CPU when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain help" -f -a "explain" -d 'Say what a value in a cgroup file means and where it can come from'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and not __fish_seen_subcommand_from plan shares explain help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l on-node -d 'Only the pods that are bound to this node, or to none yet; else the name in --node-file' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Cgroup paths only'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime-weight-formula -d 'How the runtime turns CPU shares into a cgroup v2 weight: linear or quadratic' -r -f -a "linear\t''
quadratic\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l runtime -d 'The low-level runtime, such as runc=1.3.1 or crun=1.23, from which the formula follows' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l swap-capacity -d 'The machine\'s swap' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l swap-controller -d 'Whether the kernel can limit swap per cgroup' -r -f -a "true\t''
false\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l page-size -d 'The size of a page of memory' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -l static -d 'The pods are read from the kubelet\'s folder of static pods, not from the API server'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l on-node -d 'Only the pods that are bound to this node, or to none yet; else the name in --node-file' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s o -l output -d 'How to show the answer' -r -f -a "table\t'A picture at a glance'
wide\t'Every value with its derivation'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'
name\t'Cgroup paths only'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-config -d 'The KubeletConfiguration, or the answer of /configz' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-config-dir -d 'A folder with drop-ins, merged as the kubelet merges them' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l node-file -d 'A Node object (kubectl get node NAME -o json): capacity, versions' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l capacity -d 'What the machine has, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kubelet-version -d 'Whose rules to follow, such as 1.36' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-version -d 'The kernel\'s cgroup interface: 1 or 2' -r -f -a "1\t''
2\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-driver -d 'Who creates cgroups: cgroupfs or systemd' -r -f -a "cgroupfs\t''
systemd\t''"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l cgroup-root -d 'The cgroup above kubepods' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l feature-gates -d 'Feature gates, such as MemoryQoS=true,PodLevelResources=false' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l qos-reserved -d 'What is held back for higher QoS classes, such as memory=50% (needs the gate QOSReserved)' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l kube-reserved -d 'What Kubernetes itself needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l system-reserved -d 'What the system needs, such as cpu=100m,memory=256Mi' -r
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -l set -d 'Any other field of the KubeletConfiguration, such as podPidsLimit=100, memorySwap.swapBehavior=LimitedSwap or \'enforceNodeAllocatable=[pods, kube-reserved]\' (can be repeated)' -r
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
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from shares" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to show the answer' -r -f -a "table\t'Lines to read'
json\t'The whole answer as JSON'
yaml\t'The whole answer as YAML'"
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from explain" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "shares" -d 'Show who gets how much CPU when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Say what a value in a cgroup file means and where it can come from'
complete -c kq -n "__fish_kq_using_subcommand cgroup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kq -n "__fish_kq_using_subcommand completion" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand man" -s h -l help -d 'Print help'
complete -c kq -n "__fish_kq_using_subcommand man" -s V -l version -d 'Print version'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup completion man help" -f -a "cgroup" -d 'Plan and explain cgroup values'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup completion man help" -f -a "completion" -d 'Print the completions for a shell'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup completion man help" -f -a "man" -d 'Write the man pages into a folder'
complete -c kq -n "__fish_kq_using_subcommand help; and not __fish_seen_subcommand_from cgroup completion man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "plan" -d 'Show every cgroup value that pods get on a node, with its arithmetic'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "shares" -d 'Show who gets how much CPU when every container is busy'
complete -c kq -n "__fish_kq_using_subcommand help; and __fish_seen_subcommand_from cgroup" -f -a "explain" -d 'Say what a value in a cgroup file means and where it can come from'
