_teamkeep() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="teamkeep"
                ;;
            teamkeep,config)
                cmd="teamkeep__subcmd__config"
                ;;
            teamkeep,demo)
                cmd="teamkeep__subcmd__demo"
                ;;
            teamkeep,doctor)
                cmd="teamkeep__subcmd__doctor"
                ;;
            teamkeep,export)
                cmd="teamkeep__subcmd__export"
                ;;
            teamkeep,help)
                cmd="teamkeep__subcmd__help"
                ;;
            teamkeep,hook)
                cmd="teamkeep__subcmd__hook"
                ;;
            teamkeep,import)
                cmd="teamkeep__subcmd__import"
                ;;
            teamkeep,install)
                cmd="teamkeep__subcmd__install"
                ;;
            teamkeep,log)
                cmd="teamkeep__subcmd__log"
                ;;
            teamkeep,policy)
                cmd="teamkeep__subcmd__policy"
                ;;
            teamkeep,prune)
                cmd="teamkeep__subcmd__prune"
                ;;
            teamkeep,replay)
                cmd="teamkeep__subcmd__replay"
                ;;
            teamkeep,report)
                cmd="teamkeep__subcmd__report"
                ;;
            teamkeep,restore)
                cmd="teamkeep__subcmd__restore"
                ;;
            teamkeep,show)
                cmd="teamkeep__subcmd__show"
                ;;
            teamkeep,status)
                cmd="teamkeep__subcmd__status"
                ;;
            teamkeep,teams)
                cmd="teamkeep__subcmd__teams"
                ;;
            teamkeep,uninstall)
                cmd="teamkeep__subcmd__uninstall"
                ;;
            teamkeep,verify)
                cmd="teamkeep__subcmd__verify"
                ;;
            teamkeep__subcmd__config,help)
                cmd="teamkeep__subcmd__config__subcmd__help"
                ;;
            teamkeep__subcmd__config,init)
                cmd="teamkeep__subcmd__config__subcmd__init"
                ;;
            teamkeep__subcmd__config,path)
                cmd="teamkeep__subcmd__config__subcmd__path"
                ;;
            teamkeep__subcmd__config,schema)
                cmd="teamkeep__subcmd__config__subcmd__schema"
                ;;
            teamkeep__subcmd__config__subcmd__help,help)
                cmd="teamkeep__subcmd__config__subcmd__help__subcmd__help"
                ;;
            teamkeep__subcmd__config__subcmd__help,init)
                cmd="teamkeep__subcmd__config__subcmd__help__subcmd__init"
                ;;
            teamkeep__subcmd__config__subcmd__help,path)
                cmd="teamkeep__subcmd__config__subcmd__help__subcmd__path"
                ;;
            teamkeep__subcmd__config__subcmd__help,schema)
                cmd="teamkeep__subcmd__config__subcmd__help__subcmd__schema"
                ;;
            teamkeep__subcmd__help,config)
                cmd="teamkeep__subcmd__help__subcmd__config"
                ;;
            teamkeep__subcmd__help,demo)
                cmd="teamkeep__subcmd__help__subcmd__demo"
                ;;
            teamkeep__subcmd__help,doctor)
                cmd="teamkeep__subcmd__help__subcmd__doctor"
                ;;
            teamkeep__subcmd__help,export)
                cmd="teamkeep__subcmd__help__subcmd__export"
                ;;
            teamkeep__subcmd__help,help)
                cmd="teamkeep__subcmd__help__subcmd__help"
                ;;
            teamkeep__subcmd__help,hook)
                cmd="teamkeep__subcmd__help__subcmd__hook"
                ;;
            teamkeep__subcmd__help,import)
                cmd="teamkeep__subcmd__help__subcmd__import"
                ;;
            teamkeep__subcmd__help,install)
                cmd="teamkeep__subcmd__help__subcmd__install"
                ;;
            teamkeep__subcmd__help,log)
                cmd="teamkeep__subcmd__help__subcmd__log"
                ;;
            teamkeep__subcmd__help,policy)
                cmd="teamkeep__subcmd__help__subcmd__policy"
                ;;
            teamkeep__subcmd__help,prune)
                cmd="teamkeep__subcmd__help__subcmd__prune"
                ;;
            teamkeep__subcmd__help,replay)
                cmd="teamkeep__subcmd__help__subcmd__replay"
                ;;
            teamkeep__subcmd__help,report)
                cmd="teamkeep__subcmd__help__subcmd__report"
                ;;
            teamkeep__subcmd__help,restore)
                cmd="teamkeep__subcmd__help__subcmd__restore"
                ;;
            teamkeep__subcmd__help,show)
                cmd="teamkeep__subcmd__help__subcmd__show"
                ;;
            teamkeep__subcmd__help,status)
                cmd="teamkeep__subcmd__help__subcmd__status"
                ;;
            teamkeep__subcmd__help,teams)
                cmd="teamkeep__subcmd__help__subcmd__teams"
                ;;
            teamkeep__subcmd__help,uninstall)
                cmd="teamkeep__subcmd__help__subcmd__uninstall"
                ;;
            teamkeep__subcmd__help,verify)
                cmd="teamkeep__subcmd__help__subcmd__verify"
                ;;
            teamkeep__subcmd__help__subcmd__config,init)
                cmd="teamkeep__subcmd__help__subcmd__config__subcmd__init"
                ;;
            teamkeep__subcmd__help__subcmd__config,path)
                cmd="teamkeep__subcmd__help__subcmd__config__subcmd__path"
                ;;
            teamkeep__subcmd__help__subcmd__config,schema)
                cmd="teamkeep__subcmd__help__subcmd__config__subcmd__schema"
                ;;
            teamkeep__subcmd__help__subcmd__policy,allow)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__allow"
                ;;
            teamkeep__subcmd__help__subcmd__policy,check)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__check"
                ;;
            teamkeep__subcmd__help__subcmd__policy,explain)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__explain"
                ;;
            teamkeep__subcmd__help__subcmd__policy,pause)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__pause"
                ;;
            teamkeep__subcmd__help__subcmd__policy,pauses)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__pauses"
                ;;
            teamkeep__subcmd__help__subcmd__policy,resume)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__resume"
                ;;
            teamkeep__subcmd__help__subcmd__policy,show)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__show"
                ;;
            teamkeep__subcmd__help__subcmd__policy,test)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__test"
                ;;
            teamkeep__subcmd__help__subcmd__policy,trust)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__trust"
                ;;
            teamkeep__subcmd__help__subcmd__policy__subcmd__allow,shutdown)
                cmd="teamkeep__subcmd__help__subcmd__policy__subcmd__allow__subcmd__shutdown"
                ;;
            teamkeep__subcmd__policy,allow)
                cmd="teamkeep__subcmd__policy__subcmd__allow"
                ;;
            teamkeep__subcmd__policy,check)
                cmd="teamkeep__subcmd__policy__subcmd__check"
                ;;
            teamkeep__subcmd__policy,explain)
                cmd="teamkeep__subcmd__policy__subcmd__explain"
                ;;
            teamkeep__subcmd__policy,help)
                cmd="teamkeep__subcmd__policy__subcmd__help"
                ;;
            teamkeep__subcmd__policy,pause)
                cmd="teamkeep__subcmd__policy__subcmd__pause"
                ;;
            teamkeep__subcmd__policy,pauses)
                cmd="teamkeep__subcmd__policy__subcmd__pauses"
                ;;
            teamkeep__subcmd__policy,resume)
                cmd="teamkeep__subcmd__policy__subcmd__resume"
                ;;
            teamkeep__subcmd__policy,show)
                cmd="teamkeep__subcmd__policy__subcmd__show"
                ;;
            teamkeep__subcmd__policy,test)
                cmd="teamkeep__subcmd__policy__subcmd__test"
                ;;
            teamkeep__subcmd__policy,trust)
                cmd="teamkeep__subcmd__policy__subcmd__trust"
                ;;
            teamkeep__subcmd__policy__subcmd__allow,help)
                cmd="teamkeep__subcmd__policy__subcmd__allow__subcmd__help"
                ;;
            teamkeep__subcmd__policy__subcmd__allow,shutdown)
                cmd="teamkeep__subcmd__policy__subcmd__allow__subcmd__shutdown"
                ;;
            teamkeep__subcmd__policy__subcmd__allow__subcmd__help,help)
                cmd="teamkeep__subcmd__policy__subcmd__allow__subcmd__help__subcmd__help"
                ;;
            teamkeep__subcmd__policy__subcmd__allow__subcmd__help,shutdown)
                cmd="teamkeep__subcmd__policy__subcmd__allow__subcmd__help__subcmd__shutdown"
                ;;
            teamkeep__subcmd__policy__subcmd__help,allow)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__allow"
                ;;
            teamkeep__subcmd__policy__subcmd__help,check)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__check"
                ;;
            teamkeep__subcmd__policy__subcmd__help,explain)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__explain"
                ;;
            teamkeep__subcmd__policy__subcmd__help,help)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__help"
                ;;
            teamkeep__subcmd__policy__subcmd__help,pause)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__pause"
                ;;
            teamkeep__subcmd__policy__subcmd__help,pauses)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__pauses"
                ;;
            teamkeep__subcmd__policy__subcmd__help,resume)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__resume"
                ;;
            teamkeep__subcmd__policy__subcmd__help,show)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__show"
                ;;
            teamkeep__subcmd__policy__subcmd__help,test)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__test"
                ;;
            teamkeep__subcmd__policy__subcmd__help,trust)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__trust"
                ;;
            teamkeep__subcmd__policy__subcmd__help__subcmd__allow,shutdown)
                cmd="teamkeep__subcmd__policy__subcmd__help__subcmd__allow__subcmd__shutdown"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        teamkeep)
            opts="-h -V --help --version hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config)
            opts="-h --help path init schema help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__help)
            opts="path init schema help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__help__subcmd__help)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__help__subcmd__init)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__help__subcmd__path)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__help__subcmd__schema)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__init)
            opts="-h --force --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__path)
            opts="-h --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__config__subcmd__schema)
            opts="-h --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__demo)
            opts="-h --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__doctor)
            opts="-h --json --fix --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__export)
            opts="-o -h --output --redact --force --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help)
            opts="hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__config)
            opts="path init schema"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__config__subcmd__init)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__config__subcmd__path)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__config__subcmd__schema)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__demo)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__doctor)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__export)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__help)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__hook)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__import)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__install)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__log)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy)
            opts="check show trust test explain pause resume allow pauses"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__allow)
            opts="shutdown"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__allow__subcmd__shutdown)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__check)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__explain)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__pause)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__pauses)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__resume)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__show)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__test)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__policy__subcmd__trust)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__prune)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__replay)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__report)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__restore)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__show)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__status)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__teams)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__uninstall)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__help__subcmd__verify)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__hook)
            opts="-h --plugin --help subagent-start subagent-stop teammate-idle task-completed task-created pre-tool-use post-tool-use session-start session-end stop stop-failure user-prompt-submit pre-compact file-changed notification post-tool-use-failure post-tool-batch permission-request permission-denied user-prompt-expansion post-compact pre-model-switch post-model-switch setup elicitation elicitation-result config-change instructions-loaded cwd-changed directory-added worktree-remove"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__import)
            opts="-h --max-size --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --max-size)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__install)
            opts="-y -h --scope --settings --dry-run --yes --command --client-version --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --scope)
                    COMPREPLY=($(compgen -W "user project local" -- "${cur}"))
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --settings)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --command)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --client-version)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__log)
            opts="-n -f -h --team --session --event --actor --since --until --lines --follow --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --team)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --session)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --event)
                    COMPREPLY=($(compgen -W "subagent-start subagent-stop teammate-idle task-completed task-created pre-tool-use post-tool-use session-start session-end stop stop-failure user-prompt-submit pre-compact file-changed notification post-tool-use-failure post-tool-batch permission-request permission-denied user-prompt-expansion post-compact pre-model-switch post-model-switch setup elicitation elicitation-result config-change instructions-loaded cwd-changed directory-added worktree-remove verdict" -- "${cur}"))
                    return 0
                    ;;
                --actor)
                    COMPREPLY=($(compgen -W "lead teammate subagent helper unknown" -- "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --until)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --lines)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                -n)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy)
            opts="-h --help check show trust test explain pause resume allow pauses help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__allow)
            opts="-h --help shutdown help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__allow__subcmd__help)
            opts="shutdown help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__allow__subcmd__help__subcmd__help)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__allow__subcmd__help__subcmd__shutdown)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__allow__subcmd__shutdown)
            opts="-h --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__check)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__explain)
            opts="-h --run --policy --project --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --run)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --project)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help)
            opts="check show trust test explain pause resume allow pauses help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__allow)
            opts="shutdown"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__allow__subcmd__shutdown)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 5 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__check)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__explain)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__help)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__pause)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__pauses)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__resume)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__show)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__test)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__help__subcmd__trust)
            opts=""
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__pause)
            opts="-h --gate --team --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --gate)
                    COMPREPLY=($(compgen -W "premature-shutdown protect-lead idle-with-work completion-check unfinished-dependencies report-before-idle team-size lead-stops-early rule" -- "${cur}"))
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --team)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__pauses)
            opts="-h --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__resume)
            opts="-h --gate --team --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --gate)
                    COMPREPLY=($(compgen -W "premature-shutdown protect-lead idle-with-work completion-check unfinished-dependencies report-before-idle team-size lead-stops-early rule" -- "${cur}"))
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --team)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__show)
            opts="-h --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__test)
            opts="-h --policy --project --against --expect --strict --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --project)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --against)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --expect)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__policy__subcmd__trust)
            opts="-y -h --project --remove --list --yes --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --project)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__prune)
            opts="-y -h --older-than --keep --max-size --dry-run --yes --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --older-than)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --keep)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --max-size)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__replay)
            opts="-a -f -h --from --to --actor --kind --format --json --all --full --follow --speed --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --from)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --to)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --actor)
                    COMPREPLY=($(compgen -W "lead teammate subagent" -- "${cur}"))
                    return 0
                    ;;
                --kind)
                    COMPREPLY=($(compgen -W "session-started team-created member-joined task-created task-found task-changed task-completed task-deleted task-erased turn-started message message-refused shutdown-requested shutdown-approved shutdown-rejected turn-ended idle member-left session-ended team-erased verdict" -- "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "text json mermaid" -- "${cur}"))
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --speed)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__report)
            opts="-o -a -h --format --json --output --force --redact --all --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --format)
                    COMPREPLY=($(compgen -W "text markdown json html" -- "${cur}"))
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__restore)
            opts="-y -h --at --to --tasks --undo --all --keep-owners --force --dry-run --yes --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --at)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tasks)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --undo)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__show)
            opts="-h --at --diff --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --at)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --diff)
                    COMPREPLY=("${cur}")
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__status)
            opts="-w -h --watch --json --line --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__teams)
            opts="-a -h --all --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__uninstall)
            opts="-y -h --scope --settings --dry-run --yes --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --scope)
                    COMPREPLY=($(compgen -W "user project local" -- "${cur}"))
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o nospace
                    fi
                    return 0
                    ;;
                --settings)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        teamkeep__subcmd__verify)
            opts="-h --json --help"
            compopt +o default +o bashdefault 2>/dev/null
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _teamkeep -o nosort -o bashdefault -o default teamkeep
else
    complete -F _teamkeep -o bashdefault -o default teamkeep
fi
