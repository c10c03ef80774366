s/\.run(context\.Background())/.run()/
s/UpdatePodStatus(context\.Background(), /UpdatePodStatus(/
