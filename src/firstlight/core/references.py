"""The bibliography: the publications of proxies, spaces and algorithms by key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """A publication."""

    authors: str
    title: str
    venue: str
    year: int

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}, {self.year}."

    @property
    def short(self) -> str:
        """Title and year."""
        return f"{self.title} ({self.year})"


REFERENCES = {
    "Abdelfattah2021zerocost": Reference(
        "Mohamed S. Abdelfattah, Abhinav Mehrotra, Łukasz Dudziak, Nicholas D. Lane",
        "Zero-Cost Proxies for Lightweight NAS",
        "ICLR",
        2021,
    ),
    "Asthana2025dextr": Reference(
        "Rohan Asthana, Joschua Conrad, Maurits Ortmanns, Vasileios Belagiannis",
        "Dextr: Zero-Shot Neural Architecture Search with Singular Value Decomposition and Extrinsic Curvature",
        "TMLR",
        2025,
    ),
    "Casarin2025lswag": Reference(
        "Sofia Casarin, Sergio Escalera, Oswald Lanz",
        "L-SWAG: Layer-Sample Wise Activation with Gradients Information for Zero-Shot NAS on Vision Transformers",
        "CVPR",
        2025,
    ),
    "Chen2021autoformer": Reference(
        "Minghao Chen, Houwen Peng, Jianlong Fu, Haibin Ling",
        "AutoFormer: Searching Transformers for Visual Recognition",
        "ICCV",
        2021,
    ),
    "Chen2021tenas": Reference(
        "Wuyang Chen, Xinyu Gong, Zhangyang Wang",
        "Neural Architecture Search on ImageNet in Four GPU Hours: A Theoretically Inspired Perspective",
        "ICLR",
        2021,
    ),
    "Chen2025zerolm": Reference(
        "Zhen-Song Chen, Hong-Wei Ding, Xian-Jia Wang, Witold Pedrycz",
        "ZeroLM: Data-Free Transformer Architecture Search for Language Models",
        "arXiv:2503.18646",
        2025,
    ),
    "Deb2002nsga": Reference(
        "Kalyanmoy Deb, Amrit Pratap, Sameer Agarwal, T. Meyarivan",
        "A fast and elitist multiobjective genetic algorithm: NSGA-II",
        "IEEE Transactions on Evolutionary Computation",
        2002,
    ),
    "Dong2020nasbench201": Reference(
        "Xuanyi Dong, Yi Yang",
        "NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture Search",
        "ICLR",
        2020,
    ),
    "Dong2021nats": Reference(
        "Xuanyi Dong, Lu Liu, Katarzyna Musial, Bogdan Gabrys",
        "NATS-Bench: Benchmarking NAS Algorithms for Architecture Topology and Size",
        "TPAMI",
        2021,
    ),
    "Dosovitskiy2021vit": Reference(
        "Alexey Dosovitskiy, Lucas Beyer, Alexander Kolesnikov, Dirk Weissenborn, Xiaohua Zhai, Thomas Unterthiner, "
        "Mostafa Dehghani, Matthias Minderer, Georg Heigold, Sylvain Gelly, Jakob Uszkoreit, Neil Houlsby",
        "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
        "ICLR",
        2021,
    ),
    "Duan2021transnas": Reference(
        "Yawen Duan, Xin Chen, Hang Xu, Zewei Chen, Xiaodan Liang, Tong Zhang, Zhenguo Li",
        "TransNAS-Bench-101: Improving Transferability and Generalizability of Cross-Task Neural Architecture Search",
        "CVPR",
        2021,
    ),
    "Falkner2018bohb": Reference(
        "Stefan Falkner, Aaron Klein, Frank Hutter",
        "BOHB: Robust and Efficient Hyperparameter Optimization at Scale",
        "ICML",
        2018,
    ),
    "Gracheva2021epsilon": Reference(
        "Ekaterina Gracheva",
        "Trainless Model Performance Estimation Based on Random Weights Initialisations for Neural Architecture Search",
        "Array",
        2021,
    ),
    "He2016resnet": Reference(
        "Kaiming He, Xiangyu Zhang, Shaoqing Ren, Jian Sun",
        "Deep Residual Learning for Image Recognition",
        "CVPR",
        2016,
    ),
    "He2024robot": Reference(
        "Zhenfeng He, Yao Shu, Zhongxiang Dai, Bryan Kian Hsiang Low",
        "Robustifying and Boosting Training-Free Neural Architecture Search",
        "ICLR",
        2024,
    ),
    "Huang2024nasgraph": Reference(
        "Zhenhan Huang, Tejaswini Pedapati, Pin-Yu Chen, Chunheng Jiang, Jianxi Gao",
        "Graph is all you need? Lightweight data-agnostic neural architecture search without training",
        "arXiv:2405.01306",
        2024,
    ),
    "Javaheripi2022lts": Reference(
        "Mojan Javaheripi, Gustavo H. de Rosa, Subhabrata Mukherjee, Shital Shah, Tomasz L. Religa, "
        "Caio C. T. Mendes, Sebastien Bubeck, Farinaz Koushanfar, Debadeepta Dey",
        "LiteTransformerSearch: Training-free Neural Architecture Search for Efficient Language Models",
        "NeurIPS",
        2022,
    ),
    "Jiang2023meco": Reference(
        "Tangyu Jiang, Haodi Wang, Rongfang Bie",
        "MeCo: Zero-Shot NAS with One Data and Single Forward Pass via Minimum Eigenvalue of Correlation",
        "NeurIPS",
        2023,
    ),
    "Jing2025wrcor": Reference(
        "Kun Jing, Luoyu Chen, Jungang Xu, Jianwei Tai, Yiyu Wang, Shuaimin Li",
        "Zero-Shot Neural Architecture Search with Weighted Response Correlation",
        "arXiv:2507.08841",
        2025,
    ),
    "Kadlecova2024graf": Reference(
        "Gabriela Kadlecová, Jovita Lukasik, Martin Pilát, Petra Vidnerová, Mahmoud Safari, Roman Neruda, Frank Hutter",
        "Surprisingly Strong Performance Prediction with Neural Graph Features",
        "ICML",
        2024,
    ),
    "Lee2019snip": Reference(
        "Namhoon Lee, Thalaiyasingam Ajanthan, Philip H. S. Torr",
        "SNIP: Single-shot Network Pruning based on Connection Sensitivity",
        "ICLR",
        2019,
    ),
    "Lee2024aznas": Reference(
        "Junghyup Lee, Bumsub Ham",
        "AZ-NAS: Assembling Zero-Cost Proxies for Network Architecture Search",
        "CVPR",
        2024,
    ),
    "Li2023zico": Reference(
        "Guihong Li, Yuedong Yang, Kartikeya Bhardwaj, Radu Marculescu",
        "ZiCo: Zero-shot NAS via Inverse Coefficient of Variation on Gradients",
        "ICLR",
        2023,
    ),
    "Lin2021zennas": Reference(
        "Ming Lin, Pichao Wang, Zhenhong Sun, Hesen Chen, Xiuyu Sun, Qi Qian, Hao Li, Rong Jin",
        "Zen-NAS: A Zero-Shot NAS for High-Performance Image Recognition",
        "ICCV",
        2021,
    ),
    "Liu2019darts": Reference(
        "Hanxiao Liu, Karen Simonyan, Yiming Yang",
        "DARTS: Differentiable Architecture Search",
        "ICLR",
        2019,
    ),
    "Liu2022convnext": Reference(
        "Zhuang Liu, Hanzi Mao, Chao-Yuan Wu, Christoph Feichtenhofer, Trevor Darrell, Saining Xie",
        "A ConvNet for the 2020s",
        "CVPR",
        2022,
    ),
    "Lopes2021epenas": Reference(
        "Vasco Lopes, Saeid Alirezazadeh, Luís A. Alexandre",
        "EPE-NAS: Efficient Performance Estimation Without Training for Neural Architecture Search",
        "ICANN",
        2021,
    ),
    "Mellor2021naswot": Reference(
        "Joe Mellor, Jack Turner, Amos Storkey, Elliot J. Crowley",
        "Neural Architecture Search without Training",
        "ICML",
        2021,
    ),
    "Peng2024swap": Reference(
        "Yameng Peng, Andy Song, Haytham M. Fayek, Vic Ciesielski, Xiaojun Chang",
        "SWAP-NAS: Sample-Wise Activation Patterns for Ultra-fast NAS",
        "ICLR",
        2024,
    ),
    "Real2019evolution": Reference(
        "Esteban Real, Alok Aggarwal, Yanping Huang, Quoc V. Le",
        "Regularized Evolution for Image Classifier Architecture Search",
        "AAAI",
        2019,
    ),
    "Rumelhart1986backpropagation": Reference(
        "David E. Rumelhart, Geoffrey E. Hinton, Ronald J. Williams",
        "Learning representations by back-propagating errors",
        "Nature",
        1986,
    ),
    "Sandler2018mobilenetv2": Reference(
        "Mark Sandler, Andrew Howard, Menglong Zhu, Andrey Zhmoginov, Liang-Chieh Chen",
        "MobileNetV2: Inverted Residuals and Linear Bottlenecks",
        "CVPR",
        2018,
    ),
    "Shu2022hnas": Reference(
        "Yao Shu, Zhongxiang Dai, Zhaoxuan Wu, Bryan Kian Hsiang Low",
        "Unifying and Boosting Gradient-Based Training-Free Neural Architecture Search",
        "NeurIPS",
        2022,
    ),
    "Shu2022nasi": Reference(
        "Yao Shu, Shaofeng Cai, Zhongxiang Dai, Beng Chin Ooi, Bryan Kian Hsiang Low",
        "NASI: Label- and Data-agnostic Neural Architecture Search at Initialization",
        "ICLR",
        2022,
    ),
    "Tanaka2020synflow": Reference(
        "Hidenori Tanaka, Daniel Kunin, Daniel L. K. Yamins, Surya Ganguli",
        "Pruning neural networks without any data by iteratively conserving synaptic flow",
        "NeurIPS",
        2020,
    ),
    "Turner2020blockswap": Reference(
        "Jack Turner, Elliot J. Crowley, Michael O'Boyle, Amos Storkey, Gavin Gray",
        "BlockSwap: Fisher-guided Block Substitution for Network Compression on a Budget",
        "ICLR",
        2020,
    ),
    "Tybl2025vkdnw": Reference(
        "Ondřej Týbl, Lukáš Neumann",
        "Training-free Neural Architecture Search through Variance of Knowledge of Deep Network Weights",
        "CVPR",
        2025,
    ),
    "Wang2020grasp": Reference(
        "Chaoqi Wang, Guodong Zhang, Roger Grosse",
        "Picking Winning Tickets Before Training by Preserving Gradient Flow",
        "ICLR",
        2020,
    ),
    "Williams1992reinforce": Reference(
        "Ronald J. Williams",
        "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning",
        "Machine Learning",
        1992,
    ),
    "Xiang2023zerocostpt": Reference(
        "Lichuan Xiang, Łukasz Dudziak, Mohamed S. Abdelfattah, Thomas Chau, Nicholas D. Lane, Hongkai Wen",
        "Zero-Cost Operation Scoring in Differentiable Architecture Search",
        "AAAI",
        2023,
    ),
    "Xu2021knas": Reference(
        "Jingjing Xu, Liang Zhao, Junyang Lin, Rundong Gao, Xu Sun, Hongxia Yang",
        "KNAS: Green Neural Architecture Search",
        "ICML",
        2021,
    ),
    "Ying2019nasbench101": Reference(
        "Chris Ying, Aaron Klein, Eric Christiansen, Esteban Real, Kevin Murphy, Frank Hutter",
        "NAS-Bench-101: Towards Reproducible Neural Architecture Search",
        "ICML",
        2019,
    ),
    "Zela2020nasbench1shot1": Reference(
        "Arber Zela, Julien Siems, Frank Hutter",
        "NAS-Bench-1Shot1: Benchmarking and Dissecting One-shot Neural Architecture Search",
        "ICLR",
        2020,
    ),
    "Zhang2022gradsign": Reference(
        "Zhihao Zhang, Zhihao Jia",
        "GradSign: Model Performance Inference with Theoretical Insights",
        "ICLR",
        2022,
    ),
    "Zhang2023nasrec": Reference(
        "Tunhou Zhang, Dehua Cheng, Yuchen He, Zhengxing Chen, Xiaoliang Dai, Liang Xiong, Feng Yan, Hai Li, "
        "Yiran Chen, Wei Wen",
        "NASRec: Weight Sharing Neural Architecture Search for Recommender Systems",
        "WWW",
        2023,
    ),
    "Zheng2023sigeo": Reference(
        "Hua Zheng, Kuang-Hung Liu, Igor Fedorov, Xin Zhang, Wen-Yen Chen, Wei Wen",
        "SiGeo: Sub-One-Shot NAS via Information Theory and Geometry of Loss Landscape",
        "arXiv:2311.13169",
        2023,
    ),
    "Zhou2022tftas": Reference(
        "Qinqin Zhou, Kekai Sheng, Xiawu Zheng, Ke Li, Xing Sun, Yonghong Tian, Jie Chen, Rongrong Ji",
        "Training-free Transformer Architecture Search",
        "CVPR",
        2022,
    ),
}
