complete --keep-order --exclusive --command teamkeep --arguments "(TEAMKEEP_COMPLETE=fish teamkeep -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
